#include "schedules/rules/dependencies.hpp"

#include <doctest/doctest.h>

#include <string>

#include "schedules/document/schedule_io.hpp"
#include "tests/support/written_schedule.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

std::string needs(const Schedule& schedule, std::string_view action) {
  std::string text;
  for (const Dependency& dependency : dependencies(schedule, parse_action(action, ""))) {
    text += (text.empty() ? "" : " ") + to_string(dependency.action);
  }
  return text;
}

}  // namespace

TEST_CASE("in a chain every action waits for its neighbours and its own forward") {
  const Schedule schedule = written_schedule({"0F0 0B0", "1F0 1I0 1W0", "2F0 2B0"}, 1);
  CHECK(needs(schedule, "0F0") == "");
  CHECK(needs(schedule, "1F0") == "0F0");
  CHECK(needs(schedule, "2B0") == "2F0");
  CHECK(needs(schedule, "1I0") == "1F0 2B0");
  CHECK(needs(schedule, "1W0") == "1I0");
  CHECK(needs(schedule, "0U0") == "");
  CHECK(dependencies(schedule, parse_action("1I0", ""))[1].kind == DependencyKind::kGradient);
}

TEST_CASE("dependencies stay in the replica") {
  CHECK(needs(written_schedule({"0F0 0B0", "1F0 1B0"}, 1), "3:0B0") == "3:0F0 3:1B0");
}

TEST_CASE("§2.3: an explicit recompute stands between the forward and its backward") {
  const Schedule schedule = written_schedule({"0F0 0R0 0B0", "1F0 1B0"}, 1);
  CHECK(needs(schedule, "0B0") == "0F0 0R0 1B0");
  CHECK(needs(schedule, "1B0") == "1F0");
  CHECK(needs(schedule, "0R0") == "0F0");
}

TEST_CASE("§2.3: merged microbatches wait for each of theirs") {
  CHECK(needs(written_schedule({"0F0 0F1", "1F0+1"}, 2), "1F0+1") == "0F0 0F1");
}

TEST_CASE("§2.3: sequence slices wait for the one before, in the backward for the one after; batch slices do not") {
  Schedule schedule = written_schedule({"0F0.0 0F0.1", "1F0.0 1F0.1"}, 1);
  schedule.slices = Slices{Slices::Axis::kSequence, {{1, 1}}};
  CHECK(needs(schedule, "1F0.1") == "0F0.1 1F0.0");
  CHECK(needs(schedule, "0B0.0") == "0F0.0 1B0.0 0B0.1");
  CHECK(needs(schedule, "1B0.1") == "1F0.1");
  schedule.slices->axis = Slices::Axis::kBatch;
  CHECK(needs(schedule, "1F0.1") == "0F0.1");
}

TEST_CASE("skip connections and extra edges add to the rules") {
  Schedule schedule = written_schedule({"0F0", "1F0", "2F0"}, 1);
  schedule.stage_edges = {{StageId{0}, StageId{1}}, {StageId{1}, StageId{2}}, {StageId{0}, StageId{2}}};
  CHECK(needs(schedule, "2F0") == "0F0 1F0");
  CHECK(needs(schedule, "0B0") == "0F0 1B0 2B0");
  schedule.extra_edges = {{parse_action("2U0", ""), parse_action("0F0", "")}};
  CHECK(needs(schedule, "0F0") == "2U0");
  CHECK(dependencies(schedule, parse_action("0F0", ""))[0].kind == DependencyKind::kExtra);
}

}  // namespace plumb::testing

TEST_SUITE_END();
