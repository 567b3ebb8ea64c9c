#include "tools/training/demo_run.hpp"

#include <doctest/doctest.h>
#include <cstdlib>

#include <numeric>
#include <string>
#include <vector>

// What the demo says of made-up runs: forwards of one device, one behind the other.

TEST_SUITE_BEGIN("tools");

using namespace plumb;

namespace {

using Durations = std::vector<std::int64_t>;

constexpr std::size_t kForwards = 8;

Timeline forwards(const Durations& durations, Timeline::Kind kind) {
  Timeline timeline;
  timeline.kind = kind;
  timeline.num_microbatches = static_cast<std::int64_t>(durations.size());
  for (std::size_t m = 0; m < durations.size(); ++m) {
    timeline.spans.push_back({.action = {.microbatch = MicrobatchId{static_cast<std::int32_t>(m)}, .op = Op::kF},
                              .start = timeline.makespan,
                              .end = timeline.makespan + durations[m]});
    timeline.makespan += durations[m];
  }
  timeline.step_time = timeline.makespan;
  timeline.utilization = 1;
  DeviceSummary& device = timeline.devices.emplace_back();
  device.busy = device.useful = device.last_end = timeline.makespan;
  return timeline;
}

DemoResult result_of(const std::string& schedule, const std::vector<Durations>& runs) {
  DemoResult result;
  result.schedule = schedule;
  result.predicted = forwards(Durations(kForwards, 100'000), Timeline::Kind::kSimulated);
  for (const Durations& run : runs) result.measured.push_back(forwards(run, Timeline::Kind::kMeasured));
  result.comparison = compare(result.predicted, result.measured, {.max_error = 0.05});
  result.median = middle_run(result.measured);
  return result;
}

/// All forwards take `usual_ns`, but the one at `place` is interrupted.
Durations interrupted(std::int64_t usual_ns, std::size_t place) {
  Durations durations(kForwards, usual_ns);
  durations[place] += 200'000;
  return durations;
}

/// The line of the table (or of the text) that begins with `name`.
std::string line_of(const std::string& text, const std::string& name) {
  const std::size_t at = text.find("\n" + name);
  REQUIRE(at != std::string::npos);
  return text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

bool says(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

}  // namespace

TEST_CASE("on a busy machine a demo says how much of the error is the model's, and calls the schedule as predicted") {
  DemoRun run{.profile = {}, .results = {}, .lost = {0.3, 0.2, 0.4, 0.25, 0.5}, .rounds = {0, 1, 3}};
  run.results.push_back(result_of("1f1b", {interrupted(101'000, 1), interrupted(101'000, 4), interrupted(101'000, 6)}));
  const std::string text = demo_text({.clock = ClockKind::kWall, .rounds = 5}, run);
  CAPTURE(text);
  const std::string row = line_of(text, "1f1b");
  CHECK(says(row, "-20.6 %"));  // 0.8 against 1.008 ms
  CHECK(says(row, "-0.8 %"));   // 8 us of it: all forwards are 1 us longer than predicted
  CHECK(says(row, "-19.8 %"));  // 200 us of it: one forward was interrupted
  CHECK(says(row, "as predicted"));
  CHECK(says(text,
             "5 rounds of measuring the stages and training; 2 left out as the most disturbed. Other programs took "
             "an estimated 20.0 % to 50.0 % of the time, also of the rounds that count: this machine is busy."));
  CHECK(says(
      text,
      "In short, on this machine, with noise of up to 19.8 % and runs of one schedule that differ by up to 0.0 %:\n"
      "  as predicted: 1f1b\n  the model is at most 0.8 % off in these\n"));
  CHECK_FALSE(says(text, "no answer:"));
  CHECK_FALSE(says(text, "not as predicted:"));
}

TEST_CASE(
    "runs that differ by more than the bound give no answer where the model's part is large, and that is no failure") {
  DemoRun run{.profile = {}, .results = {}, .lost = {0.01, 0.0, 0.0}, .rounds = {0, 1, 2}};
  run.results.push_back(result_of(
      "gpipe", {Durations(kForwards, 120'000), Durations(kForwards, 150'000), Durations(kForwards, 180'000)}));
  REQUIRE(::setenv("COLUMNS", "300", 1) == 0);
  const std::string text = demo_text({.clock = ClockKind::kWall, .rounds = 3}, run);
  ::unsetenv("COLUMNS");
  CAPTURE(text);
  CHECK(says(line_of(text, "gpipe"), "no answer: runs differ"));
  CHECK(says(line_of(text, "gpipe"), "40.0 %"));
  CHECK(says(text, "noise of up to 0.0 % and runs of one schedule that differ by up to 40.0 %:\n  no answer: gpipe\n"));
  CHECK(says(text, "all of them count. Other programs took an estimated 0.0 % to 1.0 % of the time.\n"));
  CHECK_FALSE(says(text, "expected at most"));
}

TEST_CASE("runs that agree with each other and not with the prediction are not as predicted, with the reason") {
  DemoRun run{.profile = {}, .results = {}, .lost = {0.0}, .rounds = {0}};
  run.results.push_back(result_of("zb-h1", {Durations(kForwards, 125'000), Durations(kForwards, 125'000)}));
  run.results.push_back(result_of("1f1b", {Durations(kForwards, 100'000), Durations(kForwards, 100'000)}));
  const std::string text = demo_text({.rounds = 1}, run);
  CAPTURE(text);
  CHECK(says(line_of(text, "zb-h1"), "not as predicted"));
  CHECK(says(line_of(text, "1f1b"), "as predicted"));
  CHECK_FALSE(says(line_of(text, "1f1b"), "not as predicted"));
  CHECK(says(text, "  as predicted: 1f1b\n  not as predicted: zb-h1\n  the model is at most 20.0 % off in these\n"));
  CHECK(says(text, "zb-h1: step time: error -20.00 %, expected at most 5.00 %"));
  CHECK(says(text, "1 round of measuring"));
  CHECK(says(text, "gpt-mini on 4 devices, each device by its own processor time, 8 microbatches"));
  CHECK(says(text, "all of them count. The time that other programs took is in none of them.\n"));
}

TEST_SUITE_END();
