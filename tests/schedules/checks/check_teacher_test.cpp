#include <algorithm>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/lowering/lower.hpp"
#include "schedules/versions/delays.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule taught(std::int64_t updates = 3) {
  return generate("tspipe", {.num_devices = 2, .num_microbatches = 4, .updates = updates});
}

std::string first_fault(const Schedule& schedule) {
  const auto found = validate(schedule);
  return found.empty() ? "" : to_string(found.front());
}

std::string faults(const Schedule& schedule) {
  std::string text;
  for (const Violation& violation : validate(schedule)) text += to_string(violation) + "\n";
  return text;
}

/// Puts `moved` before `other` in the list of `device`.
Schedule with_order(Schedule schedule, std::size_t device, const std::string& moved, const std::string& other) {
  std::vector<Action>& actions = schedule.devices[device].actions;
  const auto at = [&](const std::string& text) {
    return std::ranges::find_if(actions, [&](const Action& action) { return to_string(action) == text; });
  };
  REQUIRE(at(moved) != actions.end());
  const Action action = *at(moved);
  actions.erase(at(moved));
  REQUIRE(at(other) != actions.end());
  actions.insert(at(other), action);
  return schedule;
}

}  // namespace

TEST_CASE("a teacher reads weights that are one update older than those of its student, on all stages") {
  const Schedule schedule = taught(5);
  StageCosts costs;
  costs.times.resize(2);
  costs.comm = 0;
  for (const StageDelays& of : stage_delays(schedule, lower(schedule, costs, nullptr))) {
    CHECK(of.forward == DelayCounts{{0, 16}});  // without the first update, which fills the pipeline
    CHECK(of.teacher == DelayCounts{{1, 16}});
    CHECK(of.versions == 1);
    CHECK(of.copies == 2);
  }
}

TEST_CASE("a teacher's forwards are messages of its student's size, and its output waits for the loss") {
  const Schedule schedule = taught();
  StageCosts costs;
  costs.comm = 0;
  costs.times.resize(2);
  costs.memory.resize(2);
  costs.memory[0].output_bytes = costs.memory[1].input_bytes = costs.memory[0].output_grad_bytes =
      costs.memory[1].input_grad_bytes = 10;
  costs.memory[1].logit_bytes = 7;
  const Program program = lower(schedule, costs, nullptr, {.messages = true});
  std::int64_t taught_messages = 0;
  for (std::uint32_t t = 0; t < program.transfers.size(); ++t) {
    if (program.rows[program.instrs[program.transfers[t].producer].row].op != Op::kX) continue;
    ++taught_messages;
    CHECK(program.op_of(t) == Op::kSendF);
    CHECK(program.transfers[t].bytes == 2 * 10);
    CHECK_FALSE(program.carries_weights(t));
  }
  CHECK(taught_messages == 6);
  CHECK(to_string(program.work_of(0)) == "0X0+1");
  CHECK(to_string(program.instrs[1].action) == "0X1");
  CHECK(to_string(program.work_of(1)) == "0X2+3");
}

TEST_CASE("the teacher of a document comes back from JSON, and what is none is refused where it stands") {
  const Schedule schedule = taught();
  CHECK(schedule_from_json(schedule_to_json(schedule), "t.json") == schedule);
  std::string text = schedule_to_json(schedule);
  const auto replaced = [&](const std::string& with) {
    std::string other = text;
    const std::string was = "{\"teacher\": [2, 4]}";
    return other.replace(other.find(was), was.size(), with);
  };
  for (const std::string wrong : {"{\"teacher\": [4, 4]}", "{\"teacher\": [0, 129]}"}) {
    CHECK(error_message([&] {
            schedule_from_json(replaced(wrong), "t.json");
          }).find("expected the first microbatch and one past the last, at most 128 of them") != std::string::npos);
  }
  CHECK_FALSE(
      error_message([&] { schedule_from_json(replaced("{\"teacher\": [2, 4], \"units\": 2}"), "t.json"); }).empty());
}

TEST_CASE("a teacher without a microbatch, an edge or its turn is told with what was expected") {
  CHECK(first_fault(taught()).empty());
  Schedule other = taught();
  other.extras.at("X1").units = 1;
  CHECK(first_fault(other) ==
        "device 0, position 0: microbatch 3 has no forward of the teacher of stage 0; expected one");
  other = taught();
  other.extras.at("X1").first_microbatch = 3;
  CHECK(faults(other).find("device 0, position 1: 0X1: is a teacher's forward of microbatches 3 to 4; expected "
                           "microbatches of one update") != std::string::npos);
  other = taught();
  std::erase_if(other.extra_edges, [](const ExtraEdge& edge) { return to_string(edge.before) == "0X1"; });
  CHECK(first_fault(other) == "device 1, position 1: 0X1: makes what 1X1 takes; expected an extra edge between them");
  other = taught();
  std::erase_if(other.extra_edges, [](const ExtraEdge& edge) { return to_string(edge.after) == "1F2+3"; });
  CHECK(first_fault(other) == "device 1, position 1: 1X1: makes what 1F2 takes; expected an extra edge between them");
  CHECK(first_fault(with_order(taught(), 0, "0X4", "0B0"))
            .find("0X4: runs before 0U0; expected after it, a teacher is one update late") != std::string::npos);
  CHECK(first_fault(with_order(taught(), 0, "0X1", "0B1"))
            .find("0X1: runs after the teacher's forwards of a later update; expected them in order") !=
        std::string::npos);
}

TEST_CASE("a teacher needs whole microbatches, a chain and a student that is synchronous") {
  Schedule other = taught();
  other.microbatch_sizes.assign(static_cast<std::size_t>(other.num_microbatches), 1);
  CHECK(first_fault(other).find("it runs whole microbatches; expected no slices, and one size") != std::string::npos);
  other = taught();
  other.weights.policy = WeightPolicy::kLatest;
  CHECK(first_fault(other).find("expected the mode training and the weight policy flush") != std::string::npos);
  other = taught();
  other.recompute = {{.first_stage = 0, .last_stage = 1}};
  CHECK(first_fault(other).find("expected no recompute of the last stage") != std::string::npos);
  other.recompute = {{.first_stage = 0, .last_stage = 0}};
  CHECK(first_fault(other).empty());
}

}  // namespace plumb::testing

TEST_SUITE_END();
