#include "sim/traces/readers/timeline_ranks.hpp"

#include <doctest/doctest.h>

#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/lowering/lower.hpp"
#include "sim/simulate.hpp"
#include "sim/timeline/timeline_io.hpp"
#include "sim/traces/traced_run.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("sim");

using namespace plumb;
using plumb::testing::error_message;

namespace {

/// A run whose times are known: F 5, B 9, U 2 ms on every stage, hops of 1 ms, and 100 us of host before every F.
Timeline known_run(const char* name, std::int64_t updates = 1) {
  const Schedule schedule = generate(name, {.num_devices = 3, .num_microbatches = 4, .updates = updates});
  StageCosts costs = abstract_costs("F=5,B=9,U=2,comm=1", "", {.num_stages = schedule.num_stages});
  costs.runtime.f_ns = 100'000;
  Timeline timeline = simulate(lower(schedule, costs));
  timeline.kind = Timeline::Kind::kMeasured;
  timeline.schedule = name;
  return timeline;
}

TracedRun read_run(const Timeline& timeline) { return read_traced_run({{"run.json", timeline_to_json(timeline)}}); }

}  // namespace

TEST_CASE("the profile of a trainer's run has the times of its passes, its updates, its host and its messages") {
  const TracedRun run = read_run(known_run("1f1b"));
  CHECK(run.timeline().schedule == "1f1b");
  const RunProfile& profile = run.known_profile();
  CHECK(profile.runtime == "plumbline");
  REQUIRE(profile.stages.size() == 3);
  for (const MeasuredPasses& stage : profile.stages) {
    CHECK(stage.f.count == 4);
    CHECK(stage.f.expected_ns() == 5'000'000);
    CHECK(stage.b.expected_ns() == 9'000'000);
    CHECK(stage.u.expected_ns() == 2'000'000);
    CHECK(stage.i.count == 0);
  }
  CHECK(profile.host.f.expected_ns() == 100'000);
  REQUIRE(profile.messages.size() == 1);
  CHECK(profile.messages[0].message.expected_ns() == 1'000'000);
  CHECK(profile.messages[0].send.count == 0);
}

TEST_CASE("every update of a trainer's run is a step, but the first of several warms up") {
  CHECK(read_run(known_run("1f1b", 3)).known_profile().stages[0].f.count == 2 * 4);
  const TracedRun twice = read_traced_run(
      {{"one.json", timeline_to_json(known_run("1f1b", 3))}, {"two.json", timeline_to_json(known_run("1f1b", 3))}});
  CHECK(twice.step_ns.size() == 2);
  CHECK(twice.known_profile().stages[0].f.count == 4 * 4);
}

TEST_CASE("a timeline that tells no times of single passes gives no profile, with the reason") {
  const auto reason = [](const Timeline& timeline) {
    return error_message([&] { read_run(timeline).known_profile(); });
  };
  Timeline predicted = known_run("1f1b");
  predicted.kind = Timeline::Kind::kSimulated;
  CHECK(reason(predicted) == "run.json: is a prediction, expected a measured run, so it gives no profile");
  Timeline summary = known_run("1f1b");
  summary.spans.clear();
  CHECK(reason(summary).find("summary") != std::string::npos);
  Timeline sliced = known_run("1f1b");
  sliced.spans.front().action.slice = 0;
  CHECK(reason(sliced).find("slices") != std::string::npos);
  Timeline gap = known_run("1f1b");
  std::erase_if(gap.spans,
                [](const Span& span) { return span.action.stage == StageId{1} && span.action.op == Op::kF; });
  CHECK(profile_fault(std::vector<TimelineFile>{{"run.json", gap}}) ==
        "run.json: has no forward of every stage in every update");
  const auto other = [&] {
    read_traced_run({{"a.json", timeline_to_json(known_run("1f1b"))}, {"b.json", timeline_to_json(known_run("gpipe"))}})
        .known_profile();
  };
  CHECK(error_message(other).find("b.json: is of another schedule") == 0);
}

TEST_CASE("timelines and traces are not read as one run") {
  CHECK(error_message([] {
          read_traced_run({{"a.json", timeline_to_json(known_run("1f1b"))}, {"b.json", R"({"traceEvents": []})"}});
        }) == "b.json: is no timeline, expected the same kind of file as the others");
}

TEST_SUITE_END();
