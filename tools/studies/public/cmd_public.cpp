#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "models/kernels/kernel_rates_io.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/options/option_table.hpp"
#include "tools/reports/plot_svg.hpp"
#include "tools/studies/public/public_fit.hpp"
#include "tools/studies/public/public_memory.hpp"
#include "tools/studies/public/public_report.hpp"
#include "tools/studies/studies.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/results_folder.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

constexpr std::array<std::string_view, 13> kData{
    "vtrain",         "simumax",    "nemo",           "vocabulary-parallel", "vocabulary-rerun",
    "megatron-lm-ci", "primus",     "torchtitan",     "zero-bubble-paper",   "megatron-papers",
    "megatron-moe",   "bigscience", "megatron-bridge"};
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
    OptionTable parser(
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
    return parse_command_line(parser, arguments);
  }
};

PublicResults read_jobs(const std::vector<std::string>& names, const std::string& gpu) {
  PublicResults results;
  for (const std::string& name : names) {
    const std::string file = name + ".csv";
    const RecipeSource source = step_source(in_results("public"), name);
    for (MeasuredStep& row : measured_steps(read_text_file(in_results("public/" + file).string()), file)) {
      std::variant<MeasuredJob, std::string> job = measured_job(row, source);
      if (const auto* why = std::get_if<std::string>(&job)) {
        ++results.refused[name][*why];
      } else if (std::get<MeasuredJob>(job).cluster.devices.front().name.starts_with(gpu)) {
        results.jobs.push_back(std::get<MeasuredJob>(std::move(job)));
      }
    }
  }
  return results;
}

/// Rows that state memory, also those whose step time is not predicted.
MeasuredMemory read_memory(const std::vector<std::string>& names) {
  std::vector<MeasuredJob> jobs;
  for (const std::string& name : names) {
    const std::string file = name + ".csv";
    const RecipeSource source = step_source(in_results("public"), name);
    for (MeasuredStep& row : measured_steps(read_text_file(in_results("public/" + file).string()), file)) {
      const std::optional<Cluster> cluster = step_cluster(row, source.recipe.facts(row));
      if (!memory_refusal(row).empty() || !cluster) continue;
      jobs.push_back(memory_job(row, *cluster, source.recipe));
    }
  }
  return measured_memory(std::move(jobs));
}

void refresh(const PublicResults& results, const MeasuredMemory& memory) {
  const std::string page = in_results("public/README.md").string();
  const std::string old_text = read_text_file(page);
  const std::size_t mark = old_text.find(kMark);
  if (mark == std::string::npos) throw Error(page + ": expected a line '<!-- results -->'");
  const std::filesystem::path folder = std::filesystem::path(page).parent_path();
  OutputFile(page).finish(old_text.substr(0, mark) + std::string(kMark) + "\n" + public_markdown(results) + "\n" +
                          memory_markdown(memory));
  OutputFile((folder / "predictions.csv").string()).finish(public_csv(results));
  OutputFile((folder / "memory.csv").string()).finish(memory_csv(memory));
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
    const std::vector<std::string> names_to_fit = split(arguments.constants, ',');
    const PublicFit fit{arguments.fit,
                        arguments.start,
                        arguments.without,
                        {names_to_fit.begin(), names_to_fit.end()},
                        arguments.rounds};
    print(kernel_rates_to_json(fitted_public_rates(results, fit)));
    return ExitStatus::kDone;
  }
  predict_public(results);
  if (!arguments.csv.empty()) OutputFile(arguments.csv).finish(public_csv(results));
  const MeasuredMemory memory = read_memory(names);
  if (arguments.csv != "-") print(public_text(results) + "\n" + memory_text(memory));
  if (all) refresh(results, memory);
  return ExitStatus::kDone;
}

}  // namespace plumb
