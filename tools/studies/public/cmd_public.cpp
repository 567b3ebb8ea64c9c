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
constexpr std::string_view kMark = "<!-- results -->\n";

struct PublicArguments {
  std::vector<std::string> data;
  std::string fit;
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

/// Every data set counts the same, however many rows it has.
KernelRates fit_rates(const PublicResults& all, const PublicArguments& arguments) {
  std::vector<MeasuredJob> half;
  std::vector<double> measured;
  std::map<std::string, double> sizes;
  for (const MeasuredJob& job : all.jobs) {
    if (!job.row.fits_constants()) continue;
    half.push_back(job);
    measured.push_back(job.row.step_s);
    sizes[public_group(job.row)] += 1;
  }
  if (half.empty()) throw Error("--fit: no rows of '" + arguments.fit + "', expected the beginning of a GPU's name");
  FitOptions options;
  options.rounds = static_cast<int>(arguments.rounds.value_or(8));
  for (const MeasuredJob& job : half) options.weights.push_back(1 / sizes[public_group(job.row)]);
  const std::vector<std::string> names = split(arguments.constants, ',');
  options.constants.assign(names.begin(), names.end());
  const Predict predict = [&](const KernelRates& rates) { return predicted_steps_s(half, &rates); };
  return fitted_rates(predict, measured, kernel_rates_of(half.front().cluster.devices.front()), options);
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
  results.predicted_s = predicted_steps_s(results.jobs);
  if (!arguments.csv.empty()) OutputFile(arguments.csv).finish(public_csv(results));
  if (arguments.csv != "-") print(public_text(results));
  if (all) refresh(results);
  return ExitStatus::kDone;
}

}  // namespace plumb
