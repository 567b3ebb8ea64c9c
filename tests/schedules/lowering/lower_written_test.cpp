#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/lowering/lower.hpp"
#include "schedules/program/waits.hpp"
#include "tests/support/written_schedule.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

StageCosts written_costs(const Schedule& schedule) {
  StageCosts costs;
  costs.times.assign(static_cast<std::size_t>(schedule.num_stages), StageTimes{.f = 1, .b = 2, .i = 3, .w = 4, .u = 5});
  for (std::size_t stage = 0; stage < costs.times.size(); ++stage) costs.times[stage].f += static_cast<Ticks>(stage);
  return costs;
}

/// The instrs of one device, loops followed: index of what is written, and the action that it is this time.
void walk_loops(const WrittenProgram& written, InstrIndex begin, InstrIndex end, std::size_t next, Advance sum,
                std::vector<std::pair<InstrIndex, Action>>& out, std::size_t last_loop) {
  for (InstrIndex at = begin; at < end;) {
    while (next < last_loop && written.loops[next].begin < at) ++next;
    if (next == last_loop || written.loops[next].begin != at) {
      out.emplace_back(at, advanced(written.program.instrs[at].action, sum));
      ++at;
      continue;
    }
    const WrittenProgram::Loop& loop = written.loops[next];
    for (std::int64_t turn = 0; turn < loop.count; ++turn) {
      Advance turned = sum;
      turned.microbatch += static_cast<std::int32_t>(turn) * loop.advance.microbatch;
      turned.update += static_cast<std::int32_t>(turn) * loop.advance.update;
      walk_loops(written, at, loop.end, next + 1, turned, out, last_loop);
    }
    at = loop.end;
    ++next;
    while (next < last_loop && written.loops[next].begin < at) ++next;
  }
}

using Run = std::vector<std::pair<InstrIndex, Action>>;

Run run_of(const WrittenProgram& written, std::size_t device) {
  const auto end = device + 2 < written.program.lane_begin.size() + 1 ? written.program.lane_begin[device + 1]
                                                                      : written.program.lane_begin.back();
  Run run;
  walk_loops(written, written.program.lane_begin[device], end, written.loop_begin[device], {}, run,
             written.loop_begin[device + 1]);
  return run;
}

using Value = std::tuple<std::size_t, Op, StageId, MicrobatchId>;  // device and action

/// What is given to every stream, in order, and who takes it.
struct Streams {
  std::vector<std::vector<Value>> given;
  std::vector<std::vector<Value>> taken;
};

Streams streams_of(const WrittenProgram& written) {
  Streams streams;
  streams.given.resize(written.givers.size());
  streams.taken.resize(written.takers.size());
  for (std::size_t device = 0; device + 1 < written.program.lane_begin.size(); ++device) {
    for (const auto& [at, action] : run_of(written, device)) {
      const Value value{device, action.op, action.stage, action.microbatch};
      if (written.takes[at] != WrittenProgram::kNoStream) streams.taken[written.takes[at]].push_back(value);
      if (written.gives[at] != WrittenProgram::kNoStream) streams.given[written.gives[at]].push_back(value);
    }
  }
  return streams;
}

/// Checks that the written program, followed, is the unfolded one: lanes, rows with their times, and every wait.
void check_same(const WrittenProgram& written, const Program& whole) {
  REQUIRE(written.program.lane_begin.size() == whole.lane_begin.size());
  std::map<Value, InstrIndex> place;
  for (std::size_t device = 0; device + 1 < whole.lane_begin.size(); ++device) {
    const Run run = run_of(written, device);
    const InstrIndex begin = whole.lane_begin[device];
    REQUIRE(run.size() == whole.lane_begin[device + 1] - begin);
    for (std::size_t k = 0; k < run.size(); ++k) {
      const auto at = begin + static_cast<InstrIndex>(k);
      const Row& row = written.program.rows[written.program.instrs[run[k].first].row];
      const Row& row_of_whole = whole.rows[whole.instrs[at].row];
      CHECK(run[k].second == whole.instrs[at].action);
      CHECK(row.op == row_of_whole.op);
      CHECK(row.holder == row_of_whole.holder);
      CHECK(written.program.durations[written.program.instrs[run[k].first].row] ==
            whole.durations[whole.instrs[at].row]);
      place[{device, run[k].second.op, run[k].second.stage, run[k].second.microbatch}] = at;
    }
  }
  const Streams streams = streams_of(written);
  std::size_t between = 0;
  for (std::size_t stream = 0; stream < streams.given.size(); ++stream) {
    REQUIRE(streams.given[stream].size() == streams.taken[stream].size());
    for (std::size_t k = 0; k < streams.given[stream].size(); ++k) {
      const Value& giver = streams.given[stream][k];
      const Value& taker = streams.taken[stream][k];
      CHECK(written.givers[stream] == DeviceId{static_cast<std::int32_t>(std::get<0>(giver))});
      CHECK(written.takers[stream] == DeviceId{static_cast<std::int32_t>(std::get<0>(taker))});
      if (std::get<0>(giver) == std::get<0>(taker)) continue;
      ++between;
      const InstrIndex at = place.at(taker);
      REQUIRE(whole.instrs[at + 1].first_wait == whole.instrs[at].first_wait + 1);
      CHECK(whole.waits[whole.instrs[at].first_wait].source == place.at(giver));
    }
  }
  CHECK(between == whole.waits.size());
}

/// Two devices with a stage each and four microbatches, folded, with updates.
Schedule folded() {
  Schedule schedule = written_schedule({"0F0 0B0 0U0", "1F0 1B0 1U0"}, 4);
  for (DeviceList& list : schedule.devices) list.repeats = {{0, 1, 4, {1, 0, 0}}, {1, 2, 4, {1, 0, 0}}};
  return schedule;
}

bool is_written(const Schedule& schedule, const StageCosts& costs, const LowerOptions& options = {}) {
  return lower_written(schedule, costs, nullptr, options).has_value();
}

bool is_written(const Schedule& schedule) { return is_written(schedule, written_costs(schedule)); }

}  // namespace

TEST_CASE("a program as it is written is, followed, the unfolded one, for every schedule that has one") {
  std::size_t count = 0;
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    for (const std::int32_t p : {1, 2, 4}) {
      ScheduleParams params{.num_devices = p, .num_microbatches = 12};
      Schedule schedule;
      try {
        schedule = generate(spec.name, params);
      } catch (const Error&) {
        continue;
      }
      CAPTURE(spec.name);
      CAPTURE(p);
      const StageCosts costs = written_costs(schedule);
      const auto written = lower_written(schedule, costs);
      if (!written) continue;
      ++count;
      check_same(*written, lower(schedule, costs));
    }
  }
  CHECK(count > 30);
}

TEST_CASE("nested repeats, repeats that step back, and lists in any order are written") {
  Schedule schedule = written_schedule({"0F0 0F2 0B0 0B2 0U0", "1F0 1F2 1B0 1B2 1U0"}, 8);
  for (DeviceList& list : schedule.devices) {
    // Two rounds of F0 F1 F2 F3 and B0 B1 B2 B3, four microbatches later each time.
    list.repeats = {
        {0, 4, 2, {4, 0, 0}}, {0, 1, 2, {1, 0, 0}}, {1, 2, 2, {1, 0, 0}}, {2, 3, 2, {1, 0, 0}}, {3, 4, 2, {1, 0, 0}}};
  }
  REQUIRE(is_written(schedule));
  check_same(*lower_written(schedule, written_costs(schedule)), lower(schedule, written_costs(schedule)));
  Schedule back = written_schedule({"0F0 0B3 0U0", "1F0 1B3 1U0"}, 4);
  for (DeviceList& list : back.devices) list.repeats = {{0, 1, 4, {1, 0, 0}}, {1, 2, 4, {-1, 0, 0}}};
  REQUIRE(is_written(back));
  check_same(*lower_written(back, written_costs(back)), lower(back, written_costs(back)));
  const Schedule split = written_schedule({"0F0 0F1 0I0 0W0 0I1 0W1 0U0", "1F0 1F1 1I0 1I1 1W1 1W0 1U0"}, 2);
  REQUIRE(is_written(split));  // nobody takes weight gradients
  check_same(*lower_written(split, written_costs(split)), lower(split, written_costs(split)));
}

TEST_CASE("what needs more than its rows and one value for each action is not written, and everything else is") {
  CHECK(is_written(folded()));
  const auto changed = [](auto change) {
    Schedule schedule = folded();
    change(schedule);
    return is_written(schedule);
  };
  CHECK(changed([](Schedule&) {}));
  CHECK_FALSE(changed([](Schedule& s) { s.recompute = {Recompute{.last_stage = 1}}; }));
  CHECK_FALSE(changed([](Schedule& s) { s.extra_edges = {{action_of(0, Op::kF, 0), action_of(1, Op::kB, 0)}}; }));
  CHECK_FALSE(changed([](Schedule& s) { s.weights.policy = WeightPolicy::kStash; }));
  CHECK_FALSE(changed([](Schedule& s) { s.microbatch_sizes = {1, 2, 1, 1}; }));
  CHECK_FALSE(changed([](Schedule& s) { s.devices[0].actions[2].op = Op::kV; }));
  CHECK_FALSE(changed([](Schedule& s) { s.devices[0].actions.pop_back(); }));  // its updates are left to us
  CHECK_FALSE(changed([](Schedule& s) { s.devices[1].actions.pop_back(); }));
  CHECK_FALSE(changed([](Schedule& s) { s.devices[0].repeats[0].count = 0; }));
  CHECK_FALSE(changed([](Schedule& s) {
    for (DeviceList& list : s.devices) list.repeats[0].count = list.repeats[1].count = 0;
  }));
  CHECK_FALSE(changed([](Schedule& s) { s.devices[0].repeats[1].end = 1; }));
  CHECK_FALSE(changed([](Schedule& s) { s.devices[0].repeats[0].advance.microbatch = 2; }));  // no such microbatches
  CHECK_FALSE(changed([](Schedule& s) { s.devices[1].repeats[0] = {0, 1, 4, {-1, 0, 0}}; }));
  CHECK_FALSE(changed([](Schedule& s) { s.devices[0].repeats[0].count = 5; }));
  Schedule reduced = folded();
  StageCosts costs = written_costs(reduced);
  CHECK(is_written(reduced, costs));
  costs.tied = {{StageId{0}, StageId{1}, 8}};
  CHECK_FALSE(is_written(reduced, costs));
  costs = written_costs(reduced);
  costs.runtime.f_ns = 1;
  CHECK_FALSE(is_written(reduced, costs));
  costs = written_costs(reduced);
  CHECK_FALSE(is_written(reduced, costs, {.global_norm = true}));
  CHECK(is_written(reduced, costs, {.messages = true}));  // without a cluster nothing travels
  costs.comm = 3;
  CHECK(is_written(reduced, costs));
  CHECK_FALSE(is_written(reduced, costs, {.messages = true}));
}

TEST_CASE("lists of a hundred million microbatches are written as they are folded") {
  for (const char* name : {"gpipe", "1f1b", "zb-h1", "eager-1f1b"}) {
    CAPTURE(name);
    const Schedule schedule = generate(name, {.num_devices = 4, .num_microbatches = 100'000'000});
    const auto written = lower_written(schedule, written_costs(schedule));
    REQUIRE(written.has_value());
    CHECK(written->program.instrs.size() < 1000);
  }
}

TEST_CASE("values that are taken in another order than they are given have no stream") {
  CHECK(is_written(written_schedule({"0F0 0F1 0B0 0B1 0U0", "1F0 1F1 1B0 1B1 1U0"}, 2)));
  CHECK_FALSE(is_written(written_schedule({"0F0 0F1 0B0 0B1 0U0", "1F1 1F0 1B0 1B1 1U0"}, 2)));
  CHECK_FALSE(is_written(written_schedule({"0F0 0F1 0B0 0B1 0U0", "1F0 1F1 1B1 1B0 1U0"}, 2)));
  CHECK(is_written(written_schedule({"0F1 0F0 0B0 0B1 0U0", "1F1 1F0 1B0 1B1 1U0"}, 2)));
  Schedule fork = written_schedule({"0F0 0B0 0U0", "1F0 1B0 1U0", "2F0 2B0 2U0"}, 1);
  CHECK(is_written(fork));
  fork.stage_edges = {{{StageId{0}, StageId{1}}, {StageId{0}, StageId{2}}}};  // stage 0 gives to two
  CHECK_FALSE(is_written(fork));
  fork.stage_edges = {{{StageId{0}, StageId{2}}, {StageId{1}, StageId{2}}}};  // stage 2 takes from two
  CHECK_FALSE(is_written(fork));
  fork.stage_edges = {{{StageId{0}, StageId{1}}, {StageId{1}, StageId{2}}}};
  CHECK(is_written(fork));
}

TEST_CASE("copies of stages, of the model and of microbatches are not written") {
  Schedule two = written_schedule({"0F0 0B0 0U0", "0F1 0B1 0U0"}, 2);
  two.num_stages = 1;
  two.placement = {{{DeviceId{0}, DeviceId{1}}}};
  CHECK_FALSE(is_written(two));
  Schedule merged = written_schedule({"0F0+1 0B0+1 0U0"}, 2);
  CHECK_FALSE(is_written(merged));
  CHECK(is_written(written_schedule({"0F0 0F1 0B0 0B1 0U0"}, 2)));
  CHECK_FALSE(is_written(written_schedule({"0F0 (0F1;0B0)OVERLAP_F_B 0B1 0U0"}, 2)));
  CHECK_FALSE(is_written(written_schedule({"0F0 0X0 0F1 0B0 0B1 0U0"}, 2)));
  CHECK_FALSE(is_written(written_schedule({"0F0 0R0 0F1 0B0 0B1 0U0"}, 2)));
}

}  // namespace plumb::testing

TEST_SUITE_END();
