// Writes the pages that the browser test opens: make_pages FOLDER

#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "tests/support/synthetic_timeline.hpp"
#include "tools/commands/command.hpp"
#include "tools/reports/plot_page.hpp"
#include "tools/reports/report_html.hpp"

namespace {

using plumb::html_report;
using plumb::Timeline;
using plumb::testing::synthetic_timeline;

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) throw std::runtime_error(path.string() + ": cannot write");
}

/// Two schedules, each predicted and measured.
std::string pairs() {
  const Timeline predicted = synthetic_timeline({.transfer_ns = 200'000});
  const Timeline measured =
      synthetic_timeline({.transfer_ns = 250'000, .noise = 0.1, .kind = Timeline::Kind::kMeasured});
  const Timeline gpipe = synthetic_timeline({.name = "gpipe", .all_forwards_first = true, .transfer_ns = 200'000});
  return html_report(
      {.title = "pairs",
       .note = "made without the simulator",
       .sections = {{.title = "1F1B", .first = &predicted, .second = &measured}, {.title = "GPipe", .first = &gpipe}}});
}

/// A run beside one with more devices, and with another number of microbatches.
std::string sizes() {
  const Timeline four = synthetic_timeline({.devices = 4, .microbatches = 8});
  const Timeline six = synthetic_timeline({.devices = 6, .microbatches = 12});
  return html_report({.title = "sizes", .note = "", .sections = {{.title = "1F1B", .first = &four, .second = &six}}});
}

/// Two steps of one run against their prediction, the second one shown at first, and what an adviser says.
std::string steps() {
  const Timeline predicted = synthetic_timeline({.transfer_ns = 200'000});
  const Timeline first = synthetic_timeline({.transfer_ns = 250'000, .kind = Timeline::Kind::kMeasured});
  const Timeline second = synthetic_timeline({.transfer_ns = 300'000, .kind = Timeline::Kind::kMeasured});
  const char* advice = R"({"format": "plumbline-advice", "version": 1, "runtime": "pytorch", "run_by": "pytorch",
    "verdict": "zb-h1 would save 12.5 % of a step", "devices": 4, "microbatches": 8, "measured_step_ns": 40000000, "measured_steps": 2, "predicted_step_ns": 39000000, "spread": 0.01,
    "uncertainty": 0.03, "assumptions": ["Messages keep their size."], "left_out": [], "schedules": [
    {"schedule": "zb-h1", "stages_per_device": 1, "pipeline_ranks": 4, "replicas": 1, "step_ns": 35000000,
     "low_ns": 33000000, "high_ns": 37000000, "saves": 0.125, "bubble_fraction": 0.1, "stashes": 4, "fits": true,
     "this_run": false, "ties": true, "command": "plumbline schedule zb-h1"},
    {"schedule": "1f1b", "stages_per_device": 1, "pipeline_ranks": 4, "replicas": 1, "step_ns": 40000000,
     "low_ns": 39000000, "high_ns": 41000000, "saves": 0, "bubble_fraction": 0.2, "stashes": 4, "fits": true,
     "this_run": true, "ties": false, "command": "plumbline schedule 1f1b"}]})";
  return html_report(
      {.title = "steps",
       .sections = {{.title = "1F1B", .first = &predicted, .second = &first, .choice = "step 0", .chosen = false},
                    {.title = "1F1B", .first = &predicted, .second = &second, .choice = "step 1"}},
       .advice = advice});
}

std::string large() {
  const Timeline run = synthetic_timeline({.devices = 64, .microbatches = 800, .transfer_ns = 100'000});
  return html_report({.title = "large", .sections = {{.title = "1f1b", .note = "", .first = &run}}});
}

/// Names that would end the data or run a script if they were taken for markup; a run without spans.
std::string hostile() {
  const std::string name = "</script><script>window.wasRun=1</script><img src=x onerror=window.wasRun=2>\"'&";
  Timeline run = synthetic_timeline({.name = name, .devices = 1, .microbatches = 1});
  run.machine = name;
  Timeline summary = synthetic_timeline({});
  summary.spans.clear();
  summary.memory = {};
  return html_report({.title = name + "\xff",
                      .note = name,
                      .sections = {{.title = name, .note = name, .first = &run},
                                   {.title = "summary", .first = &summary},
                                   {.title = "summary beside spans", .first = &summary, .second = &run}}});
}

/// A card with two diagrams to choose from: a line with a band, and dots under a mark on logarithmic axes.
std::string plots() {
  plumb::Plot line{.title = "line", .note = "", .x = {"x"}, .y = {"y"}, .series = {}, .marks = {}};
  line.series.push_back({.name = "one", .x = {1, 2, 3}, .y = {1, 4, 9}, .low = {0, 3, 8}, .high = {2, 5, 10}});
  line.series.push_back({.name = "two", .x = {1, 3}, .y = {2, 3}, .colour = 1, .dashed = true});
  plumb::Plot dots{.title = "dots", .note = "", .x = {"x", true}, .y = {"y", true}, .series = {}, .marks = {}};
  dots.series.push_back({.name = "dots", .x = {1, 10}, .y = {5, 50}, .points = true, .line = false});
  dots.marks.push_back({10, 50, "here"});
  plumb::PlotPage page{.title = "plots", .note = "", .cards = {}};
  page.cards.push_back({.title = "card",
                        .note = "</script>",
                        .choices = {{"lines", line, plumb::PlotTable{{"a", "b"}, {{"1", "2"}}}}, {"dots", dots, {}}},
                        .choice_label = "what is drawn"});
  return html_plots(page);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: make_pages FOLDER\n";
    return 2;
  }
  const std::filesystem::path folder(argv[1]);
  std::filesystem::create_directories(folder);
  write(folder / "pairs.html", pairs());
  write(folder / "sizes.html", sizes());
  write(folder / "steps.html", steps());
  write(folder / "large.html", large());
  write(folder / "hostile.html", hostile());
  write(folder / "plots.html", plots());
  plumb::run_sweep({"gpipe", "zb-h1", "zb-v", "-p", "4", "-m", "8", "--cost", "F=1,B=2,I=1,W=1", "--html",
                    (folder / "sweep.html").string()},
                   nullptr);
  plumb::run_sweep(
      {"dualpipe", "-p", "8", "-m", "400", "--cost", "F=1,B=2", "--html", (folder / "overlapped.html").string()},
      nullptr);
  plumb::run_sweep({"1f1b", "-p", "4", "-m", "17", "--cost", "F=1,B=2", "--html", (folder / "sixty.html").string()},
                   nullptr);
  return 0;
}
