#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "models/kernels/kernel_rates_io.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/device_commands.hpp"
#include "tools/measured_steps/fit_quality.hpp"
#include "tools/measured_steps/measured_table.hpp"
#include "tools/measured_steps/stage_times.hpp"
#include "tools/measured_steps/step_scores.hpp"
#include "tools/options/option_table.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

constexpr std::size_t kMostParts = 10;  // of rows that are left out in turn

struct FitArguments {
  std::vector<std::string> rows;
  std::string cluster;
  std::string gpu;
  std::string rates;
  std::string constants;
  std::string stages;
  std::string output;
  std::optional<std::int64_t> rounds;
  std::optional<double> pull;
  bool even = false;
  bool all_constants = false;

  bool parse(const CommandLine& arguments) {
    OptionTable parser(
        "device fit --rows FILE.csv [options]",
        "Finds the constants of a device from measured training steps, one row per run. Prints which constants the\n"
        "rows identify, and the error of predicting rows that took no part in the fit.");
    parser.texts("rows", rows, "FILE", "measured steps; may be given several times (columns: tools/commands/device.md)")
        .text("cluster", cluster, "NAME|FILE",
              "the machine that they ran on, in the size of each row (default: as their columns and recipes say)")
        .text("gpu", gpu, "NAME", "only rows whose column gpu is this (default: all are of one type)")
        .text("rates", rates, "FILE", "where the fit starts (default: built in for the device's name)")
        .text("constants", constants, "LIST", "names of the constants that may move (default: all)")
        .flag("all-constants", all_constants,
              "also move constants that the rows do not identify, and leave no rows out in turn")
        .text("stages", stages, "FILE", "measured passes of stages of these runs, which are fitted as well")
        .flag("even", even, "every table counts the same, however many rows it has, and so do its times of stages")
        .real("pull", pull, {0}, "how much constants are drawn to where they start (default: 0.01)")
        .whole("rounds", rounds, {1, 1000}, "at most this many steps of the fit (default: 12)")
        .text("output,o", output, "FILE", "the device's document (- is standard output)");
    return parse_command_line(parser, arguments);
  }
};

/// The rows that can be predicted; a line for each of the others goes to `notes`.
MeasuredTable table_to_fit(const FitArguments& arguments, std::string& notes) {
  const std::optional<Cluster> cluster =
      arguments.cluster.empty() ? std::nullopt : std::optional(load_cluster(arguments.cluster));
  MeasuredTable table = measured_table(arguments.rows, cluster, arguments.gpu);
  for (const auto& [row, why] : table.refused) notes += "not used: " + row.id + ": " + why + "\n";
  std::set<std::string> types;
  for (const MeasuredJob& job : table.jobs) {
    types.insert(cluster ? job.row.gpu : kernel_rates_of(job.cluster.devices.front()).device);
  }
  if (types.size() > 1) {
    throw Error("--rows: has devices '" + *types.begin() + "' and '" + *std::next(types.begin()) +
                "', expected --gpu NAME to choose one type");
  }
  if (table.jobs.empty())
    throw Error("--rows: no row that can be predicted, expected some; " + notes.substr(0, notes.find('\n')));
  return table;
}

/// What a fit is to meet: steps, then times of stages.
struct FitTargets {
  std::vector<double> seconds;
  std::vector<double> weights;  ///< empty: 1 each
};

/// With `even` every table counts the same, however many rows it has, and so do its times of stages.
FitTargets targets_of(const MeasuredTable& table, const std::vector<StagePassOfJob>& passes, bool even) {
  FitTargets targets;
  std::vector<std::pair<std::size_t, bool>> groups;  // table, and whether it is a stage
  for (std::size_t k = 0; k < table.jobs.size(); ++k) {
    targets.seconds.push_back(table.jobs[k].row.step_s);
    groups.emplace_back(table.file[k], false);
  }
  for (const StagePassOfJob& pass : passes) {
    targets.seconds.push_back(pass.measured.seconds);
    groups.emplace_back(table.file[pass.job], true);
  }
  if (!even) return targets;
  std::map<std::pair<std::size_t, bool>, double> sizes;
  for (const auto& group : groups) sizes[group] += 1;
  for (const auto& group : groups) targets.weights.push_back(1 / sizes[group]);
  return targets;
}

std::string constants_text(const std::vector<ConstantEstimate>& constants) {
  TextTable table({{"constant"}, {"value", '>'}, {"one standard error", '>'}, {"what the rows say"}});
  for (const ConstantEstimate& estimate : constants) {
    const char* says = estimate.at_bound     ? "at its physical limit"
                       : estimate.identified ? "identified"
                                             : "not identified: kept as it was";
    table.add_row({std::string(estimate.constant.name), number_text(estimate.value),
                   estimate.identified ? "x/ " + fixed_text(estimate.factor, 2) : "-", says});
  }
  return table.to_string();
}

std::string score_line(const char* name, const StepScore& score) {
  return std::string(name) + fixed_text(100 * score.mape, 1) + " % mean error, " + fixed_text(100 * score.bias, 1) +
         " % bias\n";
}

/// The rows, where the fit starts, and what is told of it.
class DeviceFit {
 public:
  /// A line for each row that is not used goes to `notes`.
  DeviceFit(const FitArguments& arguments, std::string& notes) : on_one_cluster_(!arguments.cluster.empty()) {
    const MeasuredTable table = table_to_fit(arguments, notes);
    jobs_ = table.jobs;
    if (!arguments.stages.empty()) {
      passes_ = passes_of(jobs_, measured_stage_passes(read_text_file(arguments.stages), arguments.stages));
    }
    const FitTargets targets = targets_of(table, passes_, arguments.even);
    measured_ = targets.seconds;
    options_.weights = targets.weights;
    start_ = arguments.rates.empty()
                 ? kernel_rates_of(jobs_.front().cluster.devices.front())
                 : kernel_rates_from_json(read_text_file(arguments.rates, kKernelRatesFile), arguments.rates);
    options_.pull = arguments.pull.value_or(0.01);
    options_.rounds = static_cast<int>(arguments.rounds.value_or(12));
    constants_ = split(arguments.constants, ',');
    options_.constants.assign(constants_.begin(), constants_.end());
  }

  DeviceFit(const DeviceFit&) = delete;
  DeviceFit& operator=(const DeviceFit&) = delete;

  /// Constants that the rows do not identify keep what they were, and rows are left out in turn.
  KernelRates of_identified(std::string& text) const {
    IdentifiedFit fit = identified_fit(predict(), measured_, start_, options_);
    text += constants_text(fit.constants);
    finish(fit.rates, text);
    if (measured_.size() > 1 && passes_.empty()) {
      const PredictRows of_rows = [&](const KernelRates& rates, const std::vector<std::size_t>& rows) {
        std::vector<MeasuredJob> some;
        for (const std::size_t row : rows) some.push_back(jobs_[row]);
        return predicted_steps_s(some, &rates);
      };
      const std::size_t parts = std::min(kMostParts, measured_.size());
      const StepScore left_out =
          step_score(left_out_predictions(of_rows, measured_, start_, options_, parts), measured_);
      fit.rates.expected_error = left_out.mape;
      text += score_line("rows left out, each in turn: ", left_out);
    }
    return fit.rates;
  }

  /// All constants move.
  KernelRates of_all(std::string& text) const {
    KernelRates rates = fitted_rates(predict(), measured_, start_, options_);
    finish(rates, text);
    for (const std::string_view name : constants_at_bounds(rates)) {
      rates.source += "; at its bound: " + std::string(name);
    }
    return rates;
  }

 private:
  Predict predict() const {
    return [this](const KernelRates& rates) {
      std::vector<double> predicted = predicted_steps_s(jobs_, &rates);
      const std::vector<double> stages = predicted_passes_s(jobs_, passes_, &rates);
      predicted.insert(predicted.end(), stages.begin(), stages.end());
      return predicted;
    };
  }

  void finish(KernelRates& rates, std::string& text) const {
    if (on_one_cluster_) rates.device = jobs_.front().cluster.devices.front().name;
    rates.basis = RatesBasis::kFitted;
    rates.fitted_rows = static_cast<std::int64_t>(jobs_.size());
    rates.source = "fitted to " + std::to_string(jobs_.size()) + " measured steps" +
                   (passes_.empty() ? "" : " and " + std::to_string(passes_.size()) + " times of stages") +
                   ", from: " + start_.source;
    text += "\n" + std::to_string(measured_.size()) + " rows\n" +
            score_line("before the fit:              ", step_score(predict()(start_), measured_)) +
            score_line("fitted rows:                 ", step_score(predict()(rates), measured_));
  }

  std::vector<MeasuredJob> jobs_;
  std::vector<StagePassOfJob> passes_;
  std::vector<double> measured_;
  std::vector<std::string> constants_;
  KernelRates start_;
  FitOptions options_;
  bool on_one_cluster_;
};

}  // namespace

ExitStatus run_device_fit(const CommandLine& command_line) {
  FitArguments arguments;
  if (!arguments.parse(command_line)) return ExitStatus::kDone;
  if (arguments.rows.empty()) throw Error("device fit: expected --rows FILE.csv, a table of measured steps");
  std::string text;
  DeviceFit fit(arguments, text);
  KernelRates rates = arguments.all_constants ? fit.of_all(text) : fit.of_identified(text);
  if (!arguments.output.empty()) OutputFile(arguments.output).finish(kernel_rates_to_json(rates));
  if (arguments.output != "-") print(text);
  return ExitStatus::kDone;
}

}  // namespace plumb
