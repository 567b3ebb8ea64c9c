#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "models/jobs/kernel_rates_io.hpp"
#include "tools/measured_steps/rates_fit.hpp"
#include "tools/options/arguments.hpp"
#include "tools/reports/plot_svg.hpp"
#include "tools/studies/public/public_report.hpp"
#include "tools/studies/studies.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/results_folder.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

constexpr std::array<std::string_view, 9> kData{"vtrain",         "simumax", "nemo",       "vocabulary-parallel",
                                                "megatron-lm-ci", "primus",  "torchtitan", "zero-bubble-paper",
                                                "megatron-papers"};
/// How strongly a fit is drawn to the rates that it starts from, which were measured on the same type of chip.
constexpr double kPull = 0.02;
constexpr std::string_view kMark = "<!-- results -->\n";

struct PublicArguments {
  std::vector<std::string> data;
  std::string fit;
  std::string start;
  std::string without;
  std::string constants;
  std::string csv;
  std::optional<std::int64_t> rounds;

  bool parse(const CommandLine& arguments) {
    ArgumentParser parser(
        "reproduce public [DATA]... [options]",
        "Predicts the step times of published training runs from their configurations, with one table of constants\n"
        "per type of GPU (models/presets/devices), and compares them with the measurements. Without DATA, README.md,\n"
        "predictions.csv and scatter.svg of results/public are updated.");
    parser.positionals(data, 0, "DATA")
        .text("fit", fit, "GPU",
              "fit the constants of this type of GPU to one half of the rows, and print its document")
        .text("start", start, "FILE", "with --fit: rates to start from (default: the shipped ones)")
        .text("without", without, "GROUP", "with --fit: leave the rows of this group out, such as vocabulary-parallel")
        .text("constants", constants, "LIST", "with --fit: names of the constants to fit (default: all)")
        .whole("rounds", rounds, {}, "with --fit: at most this many steps (default: 8)")
        .text("csv", csv, "FILE", "write every row as CSV (- is standard output)");
    return parser.parse(arguments);
  }
};

PublicResults read_jobs(const std::vector<std::string>& names, const std::string& gpu) {
  PublicResults results;
  for (const std::string& name : names) {
    const std::string file = name + ".csv";
    for (MeasuredStep& row : measured_steps(read_text_file(in_results("public/" + file).string()), file)) {
      std::string why = refusal(row);
      const std::optional<Cluster> cluster = step_cluster(row);
      if (why.empty() && !cluster) why = "no cluster and rates for " + row.gpu;
      if (!why.empty()) {
        ++results.refused[name][why];
      } else if (cluster->devices.front().name.starts_with(gpu)) {
        MeasuredJob job{row, step_network(row), step_parallelism(row), *cluster};
        results.jobs.push_back(std::move(job));
      }
    }
  }
  return results;
}

/// A name for files: letters, digits and dashes.
std::string slug_of(const std::string& group) {
  std::string slug;
  for (const char letter : group) {
    const bool plain = std::isalnum(static_cast<unsigned char>(letter)) != 0;
    if (plain || (!slug.empty() && slug.back() != '-')) slug += plain ? letter : '-';
  }
  return slug;
}

/// Rates that no row of `group` has fitted; none where the shipped rates are no fit.
std::optional<KernelRates> left_out_rates(const std::string& group) {
  const std::string file = (in_results("public") / "left-out" / (slug_of(group) + ".json")).string();
  if (!std::filesystem::exists(file)) return std::nullopt;
  return kernel_rates_from_json(read_text_file(file), file);
}

std::vector<MeasuredStagePass> all_passes() {
  return measured_stage_passes(read_text_file(in_results("public/stage-times.csv").string()), "stage-times.csv");
}

/// The rows that fit the constants. Of a large group some are enough, since every group counts the same.
std::vector<MeasuredJob> fitting_jobs(const PublicResults& all, const std::string& without) {
  std::vector<MeasuredJob> half;
  std::map<std::string, std::size_t> seen;
  constexpr std::size_t kPlenty = 40;
  std::map<std::string, std::size_t> sizes;
  for (const MeasuredJob& job : all.jobs) ++sizes[public_group(job.row)];
  for (const MeasuredJob& job : all.jobs) {
    const std::string group = public_group(job.row);
    if (!job.row.fits_constants() || group == without) continue;
    const std::size_t stride = 1 + sizes[group] / kPlenty;
    if (seen[group]++ % stride == 0) half.push_back(job);
  }
  return half;
}

/// Steps and measured stages count the same, and so does every group, however many rows it has.
KernelRates fit_rates(const PublicResults& all, const PublicArguments& arguments) {
  const std::vector<MeasuredJob> half = fitting_jobs(all, arguments.without);
  if (half.empty()) throw Error("--fit: no rows of '" + arguments.fit + "', expected the beginning of a GPU's name");
  const std::vector<StagePassOfJob> passes = passes_of(half, all_passes());
  std::vector<double> measured;
  std::vector<std::string> groups;
  for (const MeasuredJob& job : half) {
    measured.push_back(job.row.step_s);
    groups.push_back(public_group(job.row));
  }
  for (const StagePassOfJob& pass : passes) {
    measured.push_back(pass.measured.seconds);
    groups.push_back(public_group(half[pass.job].row) + ", stages");
  }
  std::map<std::string, double> sizes;
  for (const std::string& group : groups) sizes[group] += 1;
  FitOptions options;
  options.rounds = static_cast<int>(arguments.rounds.value_or(8));
  options.pull = kPull;
  for (const std::string& group : groups) options.weights.push_back(1 / sizes[group]);
  const std::vector<std::string> names = split(arguments.constants, ',');
  options.constants.assign(names.begin(), names.end());
  const Predict predict = [&](const KernelRates& rates) {
    std::vector<double> predicted = predicted_steps_s(half, &rates);
    const std::vector<double> stages = predicted_passes_s(half, passes, &rates);
    predicted.insert(predicted.end(), stages.begin(), stages.end());
    return predicted;
  };
  const KernelRates start = arguments.start.empty()
                                ? kernel_rates_of(half.front().cluster.devices.front())
                                : kernel_rates_from_json(read_text_file(arguments.start), arguments.start);
  KernelRates rates = fitted_rates(predict, measured, start, options);
  rates.basis = RatesBasis::kFitted;
  rates.fitted_rows = static_cast<std::int64_t>(half.size());
  rates.source = "fitted to " + std::to_string(half.size()) + " steps and " + std::to_string(passes.size()) +
                 " times of stages of results/public";
  if (!arguments.without.empty()) rates.source += " without " + arguments.without;
  rates.source += ", from " + start.source;
  for (const std::string_view name : constants_at_bounds(rates)) rates.source += "; at its bound: " + std::string(name);
  return rates;
}

/// Predictions with the shipped rates, and with those that were fitted without the row's group where there are such.
void predict(PublicResults& results) {
  results.passes = passes_of(results.jobs, all_passes());
  results.predicted_s = results.left_out_s = predicted_steps_s(results.jobs);
  results.predicted_passes_s = results.left_out_passes_s = predicted_passes_s(results.jobs, results.passes);
  std::map<std::string, std::optional<KernelRates>> rates;
  for (std::size_t k = 0; k < results.jobs.size(); ++k) {
    const std::string group = public_group(results.jobs[k].row);
    if (!rates.contains(group)) rates[group] = left_out_rates(group);
    if (rates[group]) results.left_out_s[k] = predicted_step_s(results.jobs[k], *rates[group]);
  }
  for (std::size_t k = 0; k < results.passes.size(); ++k) {
    const std::optional<KernelRates>& own = rates[public_group(results.jobs[results.passes[k].job].row)];
    if (own) results.left_out_passes_s[k] = predicted_passes_s(results.jobs, {results.passes[k]}, &*own).front();
  }
}

void refresh(const PublicResults& results) {
  const std::string page = in_results("public/README.md").string();
  const std::string old_text = read_text_file(page);
  const std::size_t mark = old_text.find(kMark);
  if (mark == std::string::npos) throw Error(page + ": expected a line '<!-- results -->'");
  const std::filesystem::path folder = std::filesystem::path(page).parent_path();
  OutputFile(page).finish(old_text.substr(0, mark) + std::string(kMark) + "\n" + public_markdown(results));
  OutputFile((folder / "predictions.csv").string()).finish(public_csv(results));
  OutputFile((folder / "scatter.svg").string()).finish(svg_plot(public_plot(results)));
}

}  // namespace

ExitStatus run_reproduce_public(const CommandLine& command_line) {
  PublicArguments arguments;
  if (!arguments.parse(command_line)) return ExitStatus::kDone;
  for (const std::string& name : arguments.data) {
    if (std::find(kData.begin(), kData.end(), name) == kData.end()) throw_unknown("data set", name, kData);
  }
  const bool all = arguments.data.empty();
  const std::vector<std::string> names = all ? std::vector<std::string>(kData.begin(), kData.end()) : arguments.data;
  PublicResults results = read_jobs(names, arguments.fit);
  if (!arguments.fit.empty()) {
    print(kernel_rates_to_json(fit_rates(results, arguments)));
    return ExitStatus::kDone;
  }
  predict(results);
  if (!arguments.csv.empty()) OutputFile(arguments.csv).finish(public_csv(results));
  if (arguments.csv != "-") print(public_text(results));
  if (all) refresh(results);
  return ExitStatus::kDone;
}

}  // namespace plumb
