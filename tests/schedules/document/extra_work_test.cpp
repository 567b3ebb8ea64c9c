#include "schedules/document/extra_work.hpp"

#include <doctest/doctest.h>

#include <string>

#include "models/costs/stage_costs.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/lowering/lower.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

using Kind = ExtraWork::Kind;

/// Three stages; stage s takes 10 + s forward.
StageCosts costs(bool from_network) {
  StageCosts costs;
  costs.from_network = from_network;
  for (std::int64_t stage = 0; stage < 3; ++stage) {
    costs.times.push_back({.f = 10 + stage, .b = 30, .i = 21, .w = 9, .r = 12, .x = 7});
  }
  if (from_network) costs.layer_forward = {4, 5, 6, 7, 11};
  return costs;
}

std::string document(const std::string& extra) {
  std::string text = schedule_to_json(generate("bamboo", {.num_devices = 2, .num_microbatches = 1}));
  const std::string whole = "{\"units\": 1.0, \"pass\": \"F\", \"stages_ahead\": 1}";
  const std::size_t at = text.find(whole);
  REQUIRE(at != std::string::npos);
  return text.replace(at, whole.size(), extra);
}

std::string extras_refusal(const std::string& extra) {
  const std::string message = error_message([&] { schedule_from_json(document(extra), "s.json"); });
  return message.substr(message.find("extras"));
}

}  // namespace

TEST_CASE("with a network extra work takes what the pass or the layers that it names take") {
  const StageCosts network = costs(true);
  const StageId last{2};
  CHECK(extra_time({.kind = Kind::kPass, .pass = Op::kF, .stages_ahead = 1}, network, StageId{0}) == 11);
  CHECK(extra_time({.kind = Kind::kPass, .pass = Op::kF, .stages_ahead = 1}, network, last) == 10);
  CHECK(extra_time({.kind = Kind::kPass, .pass = Op::kI, .stages_ahead = -4}, network, StageId{0}) == 21);
  CHECK(extra_time({.kind = Kind::kPass, .units = 0.5, .pass = Op::kB}, network, last) == 15);
  CHECK(extra_time({.kind = Kind::kLayers, .units = 3, .first_layer = 1, .end_layer = 3}, network, last) == 33);
  CHECK(extra_time({.kind = Kind::kTime, .time_ns = 1234}, network, last) == 1234);
  CHECK(extra_time({.units = 3}, network, last) == 0);
}

TEST_CASE("with abstract costs extra work takes units of X, whatever it is, and a time takes itself") {
  StageCosts abstract = costs(false);
  abstract.base.ticks_per_ns = 3;
  for (const Kind kind : {Kind::kUnits, Kind::kPass, Kind::kLayers}) {
    CHECK(extra_time({.kind = kind, .units = 3}, abstract, StageId{0}) == 21);
  }
  CHECK(extra_time({.kind = Kind::kTime, .time_ns = 10}, abstract, StageId{0}) == 30);
}

TEST_CASE("layers that are not there, or whose times are not known, are refused") {
  StageCosts network = costs(true);
  const ExtraWork work{.kind = Kind::kLayers, .first_layer = 2, .end_layer = 6};
  CHECK(error_message([&] { extra_time(work, network, StageId{0}); }) ==
        "extras: layers [2, 6): expected at most 5, the network's layers");
  network.layer_forward.clear();
  CHECK(error_message([&] { extra_time(work, network, StageId{0}); }) ==
        "extras: layers [2, 6): the times of single layers are not known, expected a profile that has them (`layers`)");
}

TEST_CASE("with a network the redundant forwards of bamboo take the next stage's, and longer where it is longer") {
  const Schedule schedule = generate("bamboo", {.num_devices = 3, .num_microbatches = 2, .options = {{"wrap", "yes"}}});
  const Program program = lower(schedule, costs(true));
  for (InstrIndex i = 0; i < program.size(); ++i) {
    const Action& action = program.instrs[i].action;
    if (action.op != Op::kX) continue;
    CHECK(program.durations[program.instrs[i].row] == 10 + (static_cast<Ticks>(action.stage) + 1) % 3);
  }
}

TEST_CASE("with a network the frozen layers of diffusionpipe are as layers of it, shared by all devices") {
  const Schedule schedule = generate("diffusionpipe", {.num_devices = 3,
                                                       .num_microbatches = 6,
                                                       .options = {{"like", "3-5"}, {"parts", "2"}},
                                                       .costs = [](std::int32_t) { return costs(true); }});
  REQUIRE(schedule.extras.size() == 4);
  const Program program = lower(schedule, costs(true));
  Ticks frozen = 0;
  for (InstrIndex i = 0; i < program.size(); ++i) {
    if (program.instrs[i].action.op == Op::kX) frozen += program.durations[program.instrs[i].row];
  }
  CHECK(frozen == 6 * (7 + 11));  // every microbatch once through both, on one device or another
  CHECK(error_message([] {
          generate("diffusionpipe", {.num_devices = 2, .num_microbatches = 2, .options = {{"like", "3"}}});
        }) == "diffusionpipe: option like '3': expected layers of the network, FIRST-END, as in 1-5");
}

TEST_CASE("a document says extra work in one way only") {
  CHECK(schedule_from_json(document("{\"time_ns\": 12}"), "s.json").extras.at("X0").time_ns == 12);
  CHECK(extras_refusal("{}") == "extras.X0: expected one of pass, layers, teacher and time_ns");
  CHECK(extras_refusal("{\"pass\": \"F\", \"time_ns\": 1}") ==
        "extras.X0: expected one of pass, layers, teacher and time_ns");
  CHECK(extras_refusal("{\"layers\": [2, 2]}") == "extras.X0.layers: expected the first layer and one past the last");
  CHECK(extras_refusal("{\"layers\": [0, 2], \"stages_ahead\": 1}") == "extras.X0.stages_ahead: goes with pass");
  CHECK(extras_refusal("{\"pass\": \"U\"}").starts_with("extras.X0.pass: expected F, B, I, W or R"));
}

}  // namespace plumb::testing

TEST_SUITE_END();
