#include "tools/sweep/sweep_run.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "models/ground/error.hpp"
#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tools/sweep/sweep_table.hpp"

TEST_SUITE_BEGIN("tools");

namespace {

using namespace plumb;
using plumb::testing::CommandResult;
using plumb::testing::run_command;
using plumb::testing::ScratchDirectory;

}  // namespace

TEST_CASE("a sweep runs every combination, schedules outermost and microbatches innermost") {
  const auto points =
      sweep_grid({.schedules = {"a", "b"}, .devices = {2, 4}, .chunks = {1}, .microbatches = {8, 16}}, {});
  std::vector<std::string> titles;
  for (const SweepPoint& point : points) titles.push_back(sweep_title(point));
  CHECK(titles == std::vector<std::string>{"a p=2 m=8", "a p=2 m=16", "a p=4 m=8", "a p=4 m=16", "b p=2 m=8",
                                           "b p=2 m=16", "b p=4 m=8", "b p=4 m=16"});
}

TEST_CASE("costs and memory limits of a sweep are combined with everything else") {
  const auto points = sweep_grid({.schedules = {"a"},
                                  .devices = {2},
                                  .chunks = {1},
                                  .microbatches = {8},
                                  .costs = {"F=1", "F=2"},
                                  .memory_limits = {"4", "8"}},
                                 {});
  std::vector<std::string> texts;
  for (const SweepPoint& point : points) texts.push_back(point.cost + " " + point.memory_limit);
  CHECK(texts == std::vector<std::string>{"F=1 4", "F=1 8", "F=2 4", "F=2 8"});
}

TEST_CASE("degrees of jobs are combined, and make points of their own") {
  JobRanges ranges;
  ranges.tensor = "1,2";
  ranges.zero = "0,3";
  ranges.recompute = "none,full";
  const std::vector<JobDegrees> jobs = ranges.all();
  CHECK(jobs.size() == 8);
  CHECK(jobs.back().text() == "tp 2, zero 3, full recompute");
  CHECK(JobRanges{}.all() == std::vector<JobDegrees>{JobDegrees{}});
  ranges.zero = "4";
  CHECK_THROWS_WITH_AS(ranges.all(), "sweep: --zero: '4' is out of range, expected 0 to 3", Error);
  ranges.zero.clear();
  ranges.recompute = "all";
  CHECK_THROWS_AS(ranges.all(), Error);
  const auto points =
      sweep_grid({.schedules = {"a"}, .devices = {2}, .chunks = {1}, .microbatches = {8}, .jobs = jobs}, {});
  REQUIRE(points.size() == 8);
  CHECK(sweep_title(points.back()) == "a p=2 m=8, tp 2, zero 3, full recompute");
}

TEST_CASE("points of a job give what single calls give, and the best are chosen by memory and step") {
  const ScratchDirectory scratch;
  const std::string job = " 1f1b -p 2 -m 4 --network gpt2-small --cluster a100-1x8 ";
  const CommandResult sweep = run_command("plumbline sweep" + job +
                                              "--tp 1,2 --dp 2 --zero 0,1 --microbatch-size 1,2 --recompute none,full "
                                              "--csv -",
                                          scratch.path());
  REQUIRE(sweep.status == 0);
  std::istringstream rows(sweep.out);
  std::string row;
  std::getline(rows, row);
  const std::vector<std::string> titles = split(row, ',');
  const auto column = [&](const std::vector<std::string>& cells, std::string_view title) {
    return cells.at(static_cast<std::size_t>(std::ranges::find(titles, title) - titles.begin()));
  };
  int compared = 0;
  while (std::getline(rows, row)) {
    const std::vector<std::string> cells = split(row, ',');
    CAPTURE(row);
    const CommandResult single =
        run_command("plumbline simulate" + job + "--tp " + column(cells, "tp") + " --dp " + column(cells, "dp") +
                        " --zero " + column(cells, "zero") + " --microbatch-size " + column(cells, "microbatch_size") +
                        " --recompute " + column(cells, "recompute") + " --summary --json -",
                    scratch.path());
    const std::string step = "\"step_time_ns\":" + column(cells, "step_time_ns") + ",";
    const std::string peak = "\"peak_memory_bytes\":" + column(cells, "peak_memory_bytes") + ",";
    CHECK(single.out.find(step) != std::string::npos);
    CHECK(single.out.find(peak) != std::string::npos);
    CHECK((single.status == 0) == (column(cells, "fits") == "true"));
    ++compared;
  }
  CHECK(compared == 16);
  const CommandResult shown = run_command("plumbline sweep" + job + "--tp 1,2,4 --microbatch-size 1", scratch.path());
  CHECK(shown.out.find("from least memory to shortest step") != std::string::npos);
  CHECK(shown.out.find("tp 4, size 1") != std::string::npos);
}

TEST_CASE("rows of several memory limits say which; where nothing fits there are no best choices") {
  const ScratchDirectory scratch;
  const std::string sweep = "plumbline sweep 1f1b -p 2 -m 4,8 --cost F=1,B=2 --memory F=1,B=-1 --memory-limit ";
  const CommandResult some = run_command(sweep + "1,2", scratch.path());
  CHECK(some.out.find("  limit  step time") != std::string::npos);
  CHECK(some.out.find("      1         15  ") != std::string::npos);
  CHECK(some.out.find("      2         15  ") != std::string::npos);
  CHECK(some.out.find("best choices") != std::string::npos);
  const CommandResult none = run_command(sweep + "1", scratch.path());
  CHECK(none.out.find("limit") == std::string::npos);
  CHECK(none.out.find("does not fit") != std::string::npos);
  CHECK(none.out.find("best choices") == std::string::npos);
}

TEST_CASE("a sweep's CSV quotes what contains commas and leaves impossible points empty") {
  SweepResult possible;
  possible.point = {"1f1b", {.num_devices = 2, .num_microbatches = 4, .chunks = 1}, "F=1,B=2", "3"};
  possible.semantics = "synchronous";
  possible.figures.emplace();
  possible.figures->updates = 1;
  possible.figures->makespan_ns = 3'000'000;
  possible.figures->bubble_fraction = 0.25;
  possible.figures->peak_activations = 2.5;
  possible.figures->makespan_interval_ns = Interval{2, 4};
  SweepResult impossible;
  impossible.point = {"chimera", {.num_devices = 3, .num_microbatches = 4, .chunks = 1}};
  impossible.error = "chimera: 3, \"odd\"";
  CHECK(sweep_csv_row(possible) ==
        "1f1b,2,4,1,\"F=1,B=2\",3,,,,,,,,1,3000000,0,0,0.25,0,0,,,,2.5,0,0,0,2,4,,,true,,,synchronous\n");
  CHECK(sweep_csv_row(impossible) == "chimera,3,4,1,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,\"chimera: 3, \"\"odd\"\"\",\n");
  impossible.point.schedule = "=cmd|calc!A0.json";
  impossible.error = "-p 3\r";
  CHECK(sweep_csv_row(impossible) == "'=cmd|calc!A0.json,3,4,1,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,\"'-p 3\r\",\n");
  const auto columns = [](std::string_view row) { return std::count(row.begin(), row.end(), ','); };
  CHECK(columns(sweep_csv_row(possible)) - 1 == columns(sweep_csv_header()));  // one comma is in the cost
}

namespace {

SweepResult choice(const std::string& name, double bubble, double stashes, bool fits = true) {
  SweepResult result;
  result.point = {name, {.num_devices = 4, .num_microbatches = 8, .chunks = 1}};
  result.figures.emplace();
  result.figures->bubble_fraction = bubble;
  result.figures->peak_device_stashes = stashes;
  result.fits = fits;
  return result;
}

}  // namespace

TEST_CASE("the best choices are those that nothing beats in both bubble and memory") {
  std::vector<SweepResult> results{choice("much memory", 0.1, 8),   choice("beaten", 0.3, 8),
                                   choice("little memory", 0.4, 2), choice("as good, later", 0.4, 2),
                                   choice("middle", 0.2, 4),        choice("does not fit", 0.0, 1, false)};
  SweepResult failed;
  failed.point = results[0].point;
  failed.error = "no";
  results.push_back(failed);
  SweepResult other = choice("other problem", 0.9, 9);
  other.point.params.num_devices = 8;
  results.push_back(other);
  CHECK(pareto_fronts(results) == std::vector<std::vector<std::size_t>>{{2, 4, 0}, {7}});
}

TEST_CASE("intervals of jittered runs hold the median and are those of the seeds") {
  SweepPlan plan{.costs = {}, .rules = {}, .source = {.kind = AbstractUnits{}, .jitter = 0.2}, .runs = 41};
  const std::vector<SweepPoint> points{{"1f1b", {.num_devices = 4, .num_microbatches = 8}, "F=1,B=2"}};
  const auto run = [&] {
    std::vector<SweepResult> results;
    sweep_points(points, plan, [&](SweepResult result) { results.push_back(std::move(result)); });
    REQUIRE(results.size() == 1);
    REQUIRE(results[0].figures.has_value());
    return *results[0].figures;
  };
  const SweepFigures figures = run();
  REQUIRE(figures.makespan_interval_ns.has_value());
  CHECK(figures.makespan_interval_ns->low < figures.makespan_ns);
  CHECK(figures.makespan_ns < figures.makespan_interval_ns->high);
  CHECK(figures.makespan_ns > 33e6);  // waiting for the slower one costs more than the faster one saves
  CHECK(run().makespan_interval_ns->low == figures.makespan_interval_ns->low);
}

TEST_CASE("results come in the order of the points, however long each takes") {
  std::vector<SweepPoint> points;
  for (std::int64_t m = 200; m > 0; --m) {
    points.push_back({"1f1b", {.num_devices = 8, .num_microbatches = m}, "F=1,B=2"});
  }
  std::vector<std::int64_t> order;
  sweep_points(points, {.costs = {}, .rules = {}},
               [&](const SweepResult& result) { order.push_back(result.point.params.num_microbatches); });
  REQUIRE(order.size() == points.size());
  CHECK(std::is_sorted(order.rbegin(), order.rend()));
}

TEST_SUITE_END();
