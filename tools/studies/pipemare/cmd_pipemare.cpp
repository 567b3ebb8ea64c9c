#include <algorithm>
#include <filesystem>
#include <optional>

#include <nlohmann/json.hpp>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/options/option_table.hpp"
#include "tools/reports/plot_svg.hpp"
#include "tools/studies/pipemare/model_study.hpp"
#include "tools/studies/pipemare/study.hpp"
#include "tools/studies/pipemare/study_report.hpp"
#include "tools/studies/pipemare/study_run.hpp"
#include "tools/studies/pipemare/time_to_accuracy.hpp"
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
  std::optional<double> minutes;
  bool model_only = false;
  bool again = false;
  bool report_only = false;

  bool parse(const CommandLine& arguments) {
    OptionTable parser(
        "reproduce pipemare [options]",
        "Reproduces the PipeMare paper: utilization and memory by formula and by simulation, and model quality by\n"
        "training (methods x tasks x seeds, see results/pipemare). Runs that runs.csv in the output folder already\n"
        "has are not repeated.");
    parser.flag("model-only", model_only, "simulate only, do not train")
        .flag("report-only", report_only, "do not train; report on the runs of runs.csv")
        .flag("again", again, "repeat the runs of runs.csv")
        .text("network", network, "NAME|FILE", "model for utilization and memory (default: resnet-50-cifar)")
        .text("study", study, "FILE", "methods, tasks and seeds to train (default: results/pipemare/study.json)")
        .texts("task", tasks, "NAME", "train this task only")
        .texts("method", methods, "NAME", "train this method only")
        .whole("seeds", seeds, {1, 1000}, "seeds per method and task (default: as in the study)")
        .real("minutes", minutes, {0}, "start no run after this many minutes")
        .texts("cluster", clusters, "NAME|FILE",
               "simulate the time of the curves on this cluster (default: as in the study)");
    parser.group("Reports")
        .text("output,o", output, "DIR", "folder for runs.csv, tables and pictures (default: none)")
        .text("html", html, "FILE", "page with all diagrams, and with quality against simulated time")
        .text("json", json, "FILE", "write means, intervals and gaps as JSON (- is standard output)");
    return parse_command_line(parser, arguments);
  }
};

std::string document(const ModelStudy& models, const std::string& training) {
  nlohmann::ordered_json all = {{"format", "plumbline-pipemare"}, {"version", 1}};
  all["model"] = nlohmann::ordered_json::parse(model_json(models));
  if (!training.empty()) all["training"] = nlohmann::ordered_json::parse(training);
  return all.dump(1) + "\n";
}

void add_training(PlotPage& page, const PipemareArguments& arguments, const Study& study,
                  const std::vector<StudyRun>& runs) {
  for (const StudyTask& task : study.tasks) {
    if (std::ranges::none_of(runs, [&](const StudyRun& run) { return run.task == task.name; })) continue;
    page.cards.push_back({.title = task.title,
                          .note = task.note.empty() ? task.arguments : task.note,
                          .choices = {{"quality", study_plot(study, task, runs), study_table(study, task, runs)},
                                      {"training loss", study_loss_plot(study, task, runs), {}}},
                          .choice_label = "what is drawn"});
    const auto& clusters = arguments.clusters.empty() ? task.clusters : arguments.clusters;
    if (!clusters.empty()) page.cards.push_back(time_to_accuracy(study, task, runs, clusters));
  }
}

PlotPage page_of(const PipemareArguments& arguments, const ModelStudy& models, const Study& study,
                 const std::vector<StudyRun>& runs) {
  PlotPage page{.title = "PipeMare", .note = "memory, utilization and quality of asynchronous pipelines", .cards = {}};
  add_training(page, arguments, study, runs);
  for (const Plot& plot : models.plots) {
    page.cards.push_back({.title = plot.title, .note = plot.note, .choices = {{"", plot, {}}}, .choice_label = ""});
  }
  page.cards.push_back(
      {.title = "Figures", .note = "", .choices = {{"", {}, model_table(models)}}, .choice_label = ""});
  return page;
}

void write(const fs::path& path, const std::string& text) { OutputFile(path.string()).finish(text); }

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
  }
  write(folder / "training.md", study_markdown(study, runs));
}

std::vector<StudyRun> runs_there(const PipemareArguments& arguments, const fs::path& path) {
  if (arguments.again || arguments.output.empty() || !fs::exists(path)) return {};
  return runs_from_csv(read_text_file(path), path.string());
}

}  // namespace

ExitStatus run_reproduce_pipemare(const CommandLine& command_line) {
  PipemareArguments arguments;
  if (!arguments.parse(command_line)) return ExitStatus::kDone;
  const fs::path folder = arguments.output;
  const fs::path csv = folder / "runs.csv";
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
    const fs::path path =
        arguments.study.empty() ? in_results(fs::path("pipemare") / "study.json") : fs::path(arguments.study);
    study = study_from_json(read_text_file(path), path.string());
    const StudySelection selection{arguments.tasks, arguments.methods, arguments.seeds, arguments.minutes.value_or(0)};
    check_selection(study, selection);
    runs = runs_there(arguments, csv);
    const auto save = [&](const std::vector<StudyRun>& all) {
      if (!arguments.output.empty()) write(csv, runs_csv(all));
    };
    if (!arguments.report_only) {
      runs = run_study(study, selection, std::move(runs), save);
    }
  }
  if (!arguments.output.empty()) write_folder(folder, models, study, runs);
  if (json) json->finish(document(models, arguments.model_only ? "" : study_json(study, runs)));
  if (html) html->finish(html_plots(page_of(arguments, models, study, runs)));
  if (arguments.json != "-" && arguments.html != "-") {
    print(model_text(models) + (runs.empty() ? "" : "\n" + study_text(study, runs)));
  }
  return std::ranges::any_of(runs, [](const StudyRun& run) { return !run.error.empty(); }) ? ExitStatus::kNo
                                                                                           : ExitStatus::kDone;
}

}  // namespace plumb
