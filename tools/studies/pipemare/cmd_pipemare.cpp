#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>

#include <nlohmann/json.hpp>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/options/option_table.hpp"
#include "tools/reports/plot_svg.hpp"
#include "tools/studies/pipemare/model_study.hpp"
#include "tools/studies/pipemare/study_grid.hpp"
#include "tools/studies/pipemare/study_page.hpp"
#include "tools/studies/pipemare/study_report.hpp"
#include "tools/studies/pipemare/study_run.hpp"
#include "tools/studies/studies.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/results_folder.hpp"

namespace plumb {
namespace {

namespace fs = std::filesystem;

struct PipemareArguments {
  std::string study;
  std::string output;
  std::string json;
  std::string html;
  std::string network = "resnet-50-cifar";
  std::vector<std::string> tasks;
  std::vector<std::string> methods;
  std::vector<std::string> clusters;
  std::optional<std::int64_t> seeds;
  std::optional<std::int64_t> jobs;
  std::optional<double> minutes;
  bool model_only = false;
  bool again = false;
  bool report_only = false;

  bool parse(const CommandLine& arguments) {
    OptionTable parser(
        "reproduce pipemare [options]",
        "Reproduces the PipeMare paper: utilization and memory by formula and by simulation, and model quality by\n"
        "training (methods x tasks x learning rates x seeds, see results/pipemare). Runs that runs.csv in the output\n"
        "folder already has are not repeated, so a study that was stopped goes on where it was.");
    parser.flag("model-only", model_only, "simulate only, do not train")
        .flag("report-only", report_only, "do not train; report on the runs of runs.csv")
        .flag("again", again, "repeat the runs of runs.csv")
        .text("network", network, "NAME|FILE", "model for utilization and memory (default: resnet-50-cifar)")
        .text("study", study, "FILE", "methods, tasks and seeds to train (default: results/pipemare/study.json)")
        .texts("task", tasks, "NAME", "train this task only")
        .texts("method", methods, "NAME", "train this method only")
        .whole("seeds", seeds, {1, 1000}, "at most so many seeds of each setting (default: as in the study)")
        .whole("jobs", jobs, {1, 1000}, "runs at once (default: as many as there are cores)")
        .real("minutes", minutes, {0}, "start no run after this many minutes")
        .texts("cluster", clusters, "NAME|FILE",
               "simulate the time of the curves on this cluster (default: as in the study)");
    parser.group("Reports")
        .text("output,o", output, "DIR",
              "folder for runs.csv, tables, pictures and the page (default: results/pipemare; with --model-only: none)")
        .text("html", html, "FILE", "write the page to this file instead")
        .text("json", json, "FILE", "write means, intervals and gaps as JSON (- is standard output)");
    if (!parse_command_line(parser, arguments)) return false;
    if (output.empty() && !model_only) output = in_results("pipemare").string();
    return true;
  }
};

std::string document(const ModelStudy& models, const std::string& training) {
  nlohmann::ordered_json all = {{"format", "plumbline-pipemare"}, {"version", 1}};
  all["model"] = nlohmann::ordered_json::parse(model_json(models));
  if (!training.empty()) all["training"] = nlohmann::ordered_json::parse(training);
  return all.dump(1) + "\n";
}

void write(const fs::path& path, const std::string& text) { OutputFile(path.string()).finish(text); }

/// A table without its head.
std::string rows_only(const std::string& csv) { return csv.substr(csv.find('\n') + 1); }

void write_folder(const fs::path& folder, const ModelStudy& models, const Study& study,
                  const std::vector<StudyRun>& runs) {
  for (std::size_t i = 0; i < models.plots.size(); ++i) {
    write(folder / (models.names[i] + ".svg"), svg_plot(models.plots[i]));
  }
  write(folder / "model.md", model_markdown(models));
  if (runs.empty()) return;
  for (const StudyTask& task : study.tasks) {
    if (std::ranges::none_of(runs, [&](const StudyRun& run) { return run.task == task.name; })) continue;
    write(folder / (task.name + ".svg"), svg_plot(study_plot(study, task, runs)));
    write(folder / (task.name + "-loss.svg"), svg_plot(study_loss_plot(study, task, runs)));
    const Plot grid = grid_plot(study, task, runs);
    const bool shows = std::ranges::any_of(grid.series, [](const PlotSeries& series) { return series.x.size() > 1; });
    if (shows) write(folder / (task.name + "-rates.svg"), svg_plot(grid));
  }
  write(folder / "training.md", study_markdown(study, runs));
}

/// The kept runs: those of the study as it is, and others, which stay in the file.
struct KeptRuns {
  std::vector<StudyRun> of_study;
  std::vector<StudyRun> others;
};

KeptRuns runs_there(const PipemareArguments& arguments, const Study& study, const fs::path& path) {
  KeptRuns kept;
  if (arguments.again || !fs::exists(path)) return kept;
  std::vector<StudyRun> all = runs_from_csv(read_text_file(path), path.string());
  kept.of_study = runs_of_study(study, all);
  for (StudyRun& run : all) {
    const auto same = [&](const StudyRun& other) { return other.command == run.command && other.seed == run.seed; };
    if (std::ranges::none_of(kept.of_study, same)) kept.others.push_back(std::move(run));
  }
  if (!kept.others.empty()) {
    std::cerr << "plumbline: note: " << path.string() << ": " << kept.others.size()
              << " runs were made by other commands than those of the study; they are kept, but not used\n";
  }
  return kept;
}

/// Reads what is there and trains what is missing.
std::vector<StudyRun> trained(const PipemareArguments& arguments, const Study& study) {
  const StudySelection selection{arguments.tasks, arguments.methods, arguments.seeds, arguments.minutes.value_or(0),
                                 arguments.jobs.value_or(0)};
  check_selection(study, selection);
  const fs::path csv = fs::path(arguments.output) / "runs.csv";
  KeptRuns kept = runs_there(arguments, study, csv);
  if (arguments.report_only) return kept.of_study;
  const auto save = [&](const std::vector<StudyRun>& all) {
    write(csv, runs_csv(all) + rows_only(runs_csv(kept.others)));
  };
  return run_study(study, selection, std::move(kept.of_study), save);
}

Study study_of(const PipemareArguments& arguments) {
  const fs::path path =
      arguments.study.empty() ? in_results(fs::path("pipemare") / "study.json") : fs::path(arguments.study);
  return study_from_json(read_text_file(path), path.string());
}

}  // namespace

ExitStatus run_reproduce_pipemare(const CommandLine& command_line) {
  PipemareArguments arguments;
  if (!arguments.parse(command_line)) return ExitStatus::kDone;
  const fs::path folder = arguments.output;
  if (!arguments.output.empty()) fs::create_directories(folder);
  check_distinct_outputs({arguments.json, arguments.html});
  std::optional<OutputFile> json;
  std::optional<OutputFile> html;
  if (!arguments.json.empty()) json.emplace(arguments.json);
  if (!arguments.html.empty()) html.emplace(arguments.html);
  const ModelStudy models = study_models(arguments.network);
  Study study;
  std::vector<StudyRun> runs;
  if (!arguments.model_only) {
    study = study_of(arguments);
    runs = trained(arguments, study);
  }
  const bool pages = html.has_value() || (!arguments.model_only && !arguments.output.empty());
  const std::string page = pages ? html_plots(study_page(models, study, runs, arguments.clusters)) : "";
  if (!arguments.output.empty()) write_folder(folder, models, study, runs);
  if (html) {
    html->finish(page);
  } else if (pages) {
    write(folder / "pipemare.html", page);
  }
  if (json) json->finish(document(models, arguments.model_only ? "" : study_json(study, runs)));
  if (arguments.json != "-" && arguments.html != "-") {
    print(model_text(models) + (runs.empty() ? "" : "\n" + study_text(study, runs)));
  }
  return std::ranges::any_of(runs, [](const StudyRun& run) { return !run.error.empty(); }) ? ExitStatus::kNo
                                                                                           : ExitStatus::kDone;
}

}  // namespace plumb
