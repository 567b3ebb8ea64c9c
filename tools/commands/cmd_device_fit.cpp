#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "models/kernels/kernel_rates_io.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/device_commands.hpp"
#include "tools/measured_steps/fit_quality.hpp"
#include "tools/measured_steps/measured_job.hpp"
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
  std::string output;
  std::optional<std::int64_t> rounds;

  bool parse(const CommandLine& arguments) {
    OptionTable parser(
        "device fit --rows FILE.csv --cluster C [options]",
        "Finds the constants of a device from measured training steps, one row per run. Prints which constants the\n"
        "rows identify, and the error of predicting rows that took no part in the fit.");
    parser.texts("rows", rows, "FILE", "measured steps; may be given several times (columns: tools/commands/device.md)")
        .text("cluster", cluster, "NAME|FILE", "the machine that they ran on, in the size of each row")
        .text("gpu", gpu, "NAME", "only rows whose column gpu is this (default: all are of one type)")
        .text("rates", rates, "FILE", "where the fit starts (default: built in for the device's name)")
        .text("constants", constants, "LIST", "names of the constants that may move (default: all)")
        .whole("rounds", rounds, {1, 1000}, "at most this many steps of the fit (default: 12)")
        .text("output,o", output, "FILE", "the device's document (- is standard output)");
    return parse_command_line(parser, arguments);
  }
};

/// The rows that can be predicted, each on `cluster` in its own size; a line for each reason why others cannot.
std::vector<MeasuredJob> jobs_on(const FitArguments& arguments, const Cluster& cluster, std::string& notes) {
  std::vector<MeasuredJob> jobs;
  std::set<std::string> types;
  for (const std::string& file : arguments.rows) {
    const std::filesystem::path path(file);
    RecipeSource source = step_source(path.parent_path(), path.stem().string());
    source.cluster = cluster;
    for (const MeasuredStep& row : measured_steps(read_text_file(file), path.filename().string())) {
      if (!arguments.gpu.empty() && row.gpu != arguments.gpu) continue;
      std::variant<MeasuredJob, std::string> job = measured_job(row, source);
      if (const auto* why = std::get_if<std::string>(&job)) {
        notes += "not used: " + row.id + ": " + *why + "\n";
        continue;
      }
      types.insert(row.gpu);
      jobs.push_back(std::get<MeasuredJob>(std::move(job)));
    }
  }
  if (types.size() > 1) {
    throw Error("--rows: has devices '" + *types.begin() + "' and '" + *std::next(types.begin()) +
                "', expected --gpu NAME to choose one type");
  }
  if (jobs.empty())
    throw Error("--rows: no row that can be predicted, expected some; " + notes.substr(0, notes.find('\n')));
  return jobs;
}

std::vector<double> measured_of(const std::vector<MeasuredJob>& jobs) {
  std::vector<double> measured;
  for (const MeasuredJob& job : jobs) measured.push_back(job.row.step_s);
  return measured;
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

}  // namespace

ExitStatus run_device_fit(const CommandLine& command_line) {
  FitArguments arguments;
  if (!arguments.parse(command_line)) return ExitStatus::kDone;
  if (arguments.rows.empty()) throw Error("device fit: expected --rows FILE.csv, a table of measured steps");
  if (arguments.cluster.empty()) throw Error("device fit: expected --cluster NAME, the machine that the rows ran on");
  const Cluster cluster = load_cluster(arguments.cluster);
  std::string notes;
  const std::vector<MeasuredJob> jobs = jobs_on(arguments, cluster, notes);
  const std::vector<double> measured = measured_of(jobs);
  const KernelRates start =
      arguments.rates.empty()
          ? kernel_rates_of(cluster.devices.front())
          : kernel_rates_from_json(read_text_file(arguments.rates, kKernelRatesFile), arguments.rates);
  FitOptions options;
  options.pull = 0.01;
  options.rounds = static_cast<int>(arguments.rounds.value_or(12));
  const std::vector<std::string> names = split(arguments.constants, ',');
  options.constants.assign(names.begin(), names.end());
  const PredictRows predict_rows = [&](const KernelRates& rates, const std::vector<std::size_t>& rows) {
    std::vector<MeasuredJob> some;
    for (const std::size_t row : rows) some.push_back(jobs[row]);
    return predicted_steps_s(some, &rates);
  };
  const Predict predict = [&](const KernelRates& rates) { return predicted_steps_s(jobs, &rates); };
  IdentifiedFit fit = identified_fit(predict, measured, start, options);
  const StepScore before = step_score(predict(start), measured);
  const StepScore after = step_score(predict(fit.rates), measured);
  fit.rates.device = cluster.devices.front().name;
  fit.rates.basis = RatesBasis::kFitted;
  fit.rates.fitted_rows = static_cast<std::int64_t>(jobs.size());
  fit.rates.source = "fitted to " + std::to_string(jobs.size()) + " measured steps, from: " + start.source;
  std::string text = notes + constants_text(fit.constants) + "\n" + std::to_string(jobs.size()) + " rows\n" +
                     score_line("before the fit:              ", before) +
                     score_line("fitted rows:                 ", after);
  if (jobs.size() > 1) {
    const std::size_t parts = std::min(kMostParts, jobs.size());
    const StepScore left_out =
        step_score(left_out_predictions(predict_rows, measured, start, options, parts), measured);
    fit.rates.expected_error = left_out.mape;
    text += score_line("rows left out, each in turn: ", left_out);
  }
  if (!arguments.output.empty()) OutputFile(arguments.output).finish(kernel_rates_to_json(fit.rates));
  if (arguments.output != "-") print(text);
  return ExitStatus::kDone;
}

}  // namespace plumb
