#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "schedules/document/schedule_io.hpp"
#include "sim/simulate.hpp"
#include "tests/support/simulated.hpp"
#include "tests/support/written_schedule.hpp"

// What sections 1 to 5, 7 and 8 of the page say about times, updates and memory, computed here from the page alone.

TEST_SUITE_BEGIN("sim");

using namespace plumb;
using namespace plumb::testing;

namespace {

constexpr Ticks kPageUnit = 1'000'000;

/// Times of which no two are equal, the same for every stage; no messages.
StageCosts page_costs(std::int32_t num_stages) {
  StageTimes times;
  times.f = 10;
  times.b = 31;
  times.i = 12;
  times.w = 17;
  times.r = 9;
  times.u = 5;
  times.x = 3;
  StageCosts costs;
  costs.times.assign(static_cast<std::size_t>(num_stages), times);
  costs.comm = 0;
  return costs;
}

/// A cluster that gives speeds and nothing else.
Cluster of_speeds(const std::vector<double>& speeds) {
  Cluster cluster;
  cluster.devices_per_node = static_cast<std::int32_t>(speeds.size());
  for (const double speed : speeds) cluster.devices.emplace_back().speed = speed;
  cluster.finish();
  return cluster;
}

std::vector<Span> steps_of(const Timeline& timeline, const std::string& action) {
  std::vector<Span> found;
  for (const Span& span : timeline.spans) {
    if (span.lane == Lane::kCompute && to_string(span.action) == action) found.push_back(span);
  }
  return found;
}

Ticks time_of_step(const Timeline& timeline, const std::string& action) {
  const std::vector<Span> found = steps_of(timeline, action);
  REQUIRE(found.size() == 1);
  return found.front().end - found.front().start;
}

std::string lane_of(const Program& program, std::size_t device) {
  std::string lane;
  for (std::size_t at = program.lane_begin[device]; at < program.lane_begin[device + 1]; ++at) {
    lane += (lane.empty() ? "" : " ") + to_string(program.instrs[at].action);
  }
  return lane;
}

/// One stage whose microbatches two devices take in turns, and which synchronises its weights behind every update.
Schedule synchronising(std::int32_t distance) {
  Schedule schedule = written_schedule({"0F0 0B0 0U0 0SYNC_WEIGHTS", "0F1 0B1 0U0 0SYNC_WEIGHTS"}, 2);
  schedule.num_stages = 1;
  schedule.placement = {{{DeviceId{0}, DeviceId{1}}}};
  schedule.reduce_groups = {{DeviceId{0}}, {DeviceId{1}}};
  schedule.weights.policy = WeightPolicy::kLatest;
  schedule.weights.sync_distance = distance;
  return schedule;
}

}  // namespace

TEST_CASE("§1.1: a tick is a nanosecond, or the largest part of one that makes all abstract costs whole") {
  const Schedule schedule = written_schedule({"0F0 0I0 0W0"}, 1);
  CHECK(simulate(lower(schedule, page_costs(1)), {}).base.ticks_per_ns == 1);
  const Timeline timeline = simulate(lower(schedule, abstract_costs("F=1/3,I=1/7,W=1", "", {.num_stages = 1})), {});
  CHECK(timeline.base.ticks_per_ns == 21);
  CHECK(steps_of(timeline, "0F0").front().start == 0);
  CHECK(time_of_step(timeline, "0F0") == 7 * kPageUnit);
  CHECK(time_of_step(timeline, "0I0") == 3 * kPageUnit);
}

TEST_CASE("§1.3: a quotient is rounded to the nearest integer, halves up") {
  const Schedule schedule = written_schedule({"0F0 0I0 0W0"}, 1);
  StageCosts costs = page_costs(1);
  costs.times[0].f = 1;
  costs.times[0].i = 2;
  costs.times[0].w = 5;
  const Cluster cluster = of_speeds({2});
  const Timeline timeline = simulate(lower(schedule, costs, &cluster), {});
  CHECK(time_of_step(timeline, "0F0") == 1);
  CHECK(time_of_step(timeline, "0I0") == 1);
  CHECK(time_of_step(timeline, "0W0") == 3);
}

TEST_CASE("§1.4: updates that are added at one place stand by index: by replica, then by stage") {
  Schedule schedule = written_schedule({"1:0F1 0F0 1:1F1 1F0 1:1B1 1B0 1:0B1 0B0"}, 2);
  schedule.num_stages = 2;
  schedule.placement = {{{DeviceId{0}}, {DeviceId{0}}}, {{DeviceId{0}}, {DeviceId{0}}}};
  CHECK(lane_of(lower(schedule, page_costs(2)), 0).ends_with(" 0B0 0REDUCE_GRAD 0U0 1U0 1:0U0 1:1U0"));
}

TEST_CASE("§2.1: a turn of a repeat block adds to updates what is theirs, to all other numbers that of microbatches") {
  Schedule schedule = written_schedule({"0F0 0B0 0F1 0B1 0U0 0V0 0X3"}, 6);
  schedule.microbatches_per_update = {2};
  schedule.devices[0].repeats = {{0, 7, 3, {2, 1, 0}}};
  std::string lane;
  for (const Action& action : expand(schedule.devices[0])) lane += to_string(action) + " ";
  CHECK(lane == "0F0 0B0 0F1 0B1 0U0 0V0 0X3 0F2 0B2 0F3 0B3 0U1 0V1 0X5 0F4 0B4 0F5 0B5 0U2 0V2 0X7 ");
}

TEST_CASE("§3.1: a reduction of a group of one holder, and gathers, are no steps and not in the timeline") {
  Schedule schedule = written_schedule({"0UNSHARD 0F0 0B0 0REDUCE_GRAD 0RESHARD 0U0", "1F0 1B0 1REDUCE_GRAD 1U0"}, 1);
  const Program alone = lower(schedule, page_costs(2));
  CHECK(lane_of(alone, 0) == "0F0 0B0 0U0");
  CHECK(lane_of(alone, 1) == "1F0 1B0 1U0");
  const Timeline timeline = simulate(alone, {});
  CHECK(std::ranges::none_of(timeline.spans, [](const Span& span) { return span.action.op == Op::kReduceGrad; }));
}

TEST_CASE(
    "§3.3: where the norm of all gradients is needed, V follow the last updates and wait for those of all devices") {
  const Schedule schedule = written_schedule({"0F0 0B0 0U0", "1F0 1B0 1U0"}, 1);
  const Program program = lower(schedule, page_costs(2), nullptr, {.global_norm = true});
  CHECK(lane_of(program, 0) == "0F0 0B0 0U0 0V0");
  CHECK(lane_of(program, 1) == "1F0 1B0 1U0 1V0");
  // 1U0 ends at 10 + 10 + 31 + 5, 0U0 at 10 + 10 + 31 + 31 + 5.
  const Timeline timeline = simulate(program, {});
  CHECK(steps_of(timeline, "1U0").front().end == 56);
  CHECK(steps_of(timeline, "1V0").front().start == 87);
  CHECK(steps_of(timeline, "0V0").front().start == 87);
}

TEST_CASE("§3.4: SYNC_WEIGHTS is two steps without time, of which the second waits and belongs to the lane") {
  const Cluster cluster = of_speeds({1, 0.5});
  const Timeline timeline = simulate(lower(synchronising(0), page_costs(1), &cluster), {});
  for (const DeviceSummary& device : timeline.devices) CHECK(device.last_end == 2 * (10 + 31 + 5));
  std::vector<Ticks> starts;
  for (const Span& span : steps_of(timeline, "0SYNC_WEIGHTS")) {
    CHECK(span.start == span.end);
    if (span.device == DeviceId{0}) starts.push_back(span.start);
  }
  CHECK(starts == std::vector<Ticks>{46, 92});
  CHECK(timeline.longest_device_span == 92);
}

TEST_CASE("§4.1: passes and updates take the time of their stage, V and reductions none") {
  const Schedule schedule = written_schedule({"0F0 0F1 0R1 0B0 0I1 0W1 0U0 0V0"}, 2);
  const Timeline timeline = simulate(lower(schedule, page_costs(1)), {});
  CHECK(time_of_step(timeline, "0F0") == 10);
  CHECK(time_of_step(timeline, "0R1") == 9);
  CHECK(time_of_step(timeline, "0B0") == 31);  // its own, not 12 + 17
  CHECK(time_of_step(timeline, "0I1") == 12);
  CHECK(time_of_step(timeline, "0W1") == 17);
  CHECK(time_of_step(timeline, "0U0") == 5);
  CHECK(time_of_step(timeline, "0V0") == 0);
  CHECK(timeline.makespan == 2 * 10 + 9 + 31 + 12 + 17 + 5);
}

TEST_CASE("§4.3: a merged action takes the sum of the times of its microbatches and holds the sum of their memory") {
  const Schedule schedule = written_schedule({"0F0+1 0F2 0B0+1 0B2"}, 3);
  const Timeline timeline = simulate(lower(schedule, page_costs(1)), {});
  CHECK(time_of_step(timeline, "0F0+1") == 2 * 10);
  CHECK(time_of_step(timeline, "0B0+1") == 2 * 31);
  CHECK(time_of_step(timeline, "0F2") == 10);
  CHECK(timeline.devices[0].peak_activations == 3);
}

TEST_CASE("§4.7: a step on a slow device takes its time over the speed, rounded once with its folded recompute") {
  Schedule schedule = written_schedule({"0F0 0B0 0U0"}, 1);
  schedule.recompute = {{.first_stage = 0, .last_stage = 0}};
  StageCosts costs = page_costs(1);
  costs.times[0].b = 5;
  costs.times[0].r = 5;
  const Cluster cluster = of_speeds({0.3});
  const Timeline timeline = simulate(lower(schedule, costs, &cluster), {});
  CHECK(time_of_step(timeline, "0F0") == 33);
  CHECK(time_of_step(timeline, "0B0") == 33);  // 10 / 0.3, where 5 / 0.3 twice would be 17 + 17
  CHECK(time_of_step(timeline, "0U0") == 17);
}

TEST_CASE("§4.8: per device every value but comm is that of all stages of the fullest device") {
  const StageCosts costs =
      abstract_costs("F=6,I=6,W=6,U=6,X=6,AR=6,EVICT=6,LOAD=6,FB=6,F.comm=6,I.comm=6,S=6,T=6,comm=6", "",
                     {.num_stages = 3, .stages_together = 3});
  const StageTimes& times = costs.times.front();
  for (const Ticks time : {times.w, times.u, times.x, times.all_reduce, times.evict, times.load, times.f_comm.all,
                           times.i_comm.all, times.pairs.ticks[PairTimes::place(0, 1)]}) {
    CHECK(time == 2 * kPageUnit);
  }
  CHECK(times.f == 4 * kPageUnit);
  CHECK(costs.comm == 6 * kPageUnit);
}

TEST_CASE("§4.8: shares of the head take S and T, shares of the embedding and the loss nothing, layers all the rest") {
  for (const Case& one : {Case{.name = "1f1b-vocab", .p = 3, .m = 5, .options = {{"barriers", "1"}}},
                          Case{.name = "1f1b-vocab", .p = 3, .m = 5, .options = {{"barriers", "2"}}},
                          Case{.name = "1f1b-interlaced", .p = 3, .m = 5}}) {
    CAPTURE(one.name);
    Case with_costs = one;
    with_costs.cost = "F=2,B=4,U=3,S=1,T=1/2,comm=0";
    with_costs.memory = "F=1,B=-1";
    const Schedule schedule = schedule_of(with_costs);
    REQUIRE(schedule.vocabulary.has_value());
    const Timeline timeline = simulated(with_costs);
    const auto is_among = [](const std::vector<StageId>& stages, StageId stage) {
      return std::ranges::find(stages, stage) != stages.end();
    };
    for (const Span& span : timeline.spans) {
      const Action& action = span.action;
      const bool head = is_among(schedule.vocabulary->output, action.stage);
      const bool none = is_among(schedule.vocabulary->input, action.stage) || action.stage == schedule.vocabulary->loss;
      double time = 0;
      if (head && action.op == Op::kF) time = 1;
      if (head && (action.op == Op::kB || action.op == Op::kW)) time = 0.5;
      if (!head && !none) time = action.op == Op::kF ? 2 : action.op == Op::kB ? 4 : 3;
      CAPTURE(to_string(action));
      CHECK(in_units(span.end - span.start, timeline.base) == time);
    }
  }
  // m (F + B + S + T) + (p - 1) (F + B), of which nothing waits for the last T; p - d + 1 stashes of layers.
  const Timeline timeline = simulated({.name = "1f1b-vocab",
                                       .p = 3,
                                       .m = 6,
                                       .cost = "F=2,B=4,S=1,T=1/2",
                                       .memory = "F=1,B=-1",
                                       .options = {{"barriers", "1"}}});
  CHECK(in_units(timeline.makespan, timeline.base) == 6 * 7.5 + 2 * 6 - 0.5);
  for (std::size_t d = 0; d < 3; ++d) CHECK(timeline.devices[d].peak_activations == 4 - static_cast<double>(d));
}

TEST_CASE("§4.9: with jitter a step takes what its index and the seed say") {
  const Schedule schedule = written_schedule({"0F0 0I0 0W0", "1F0 1I0 1W0"}, 1);
  Cluster cluster = of_speeds({1, 1});
  for (DeviceSpec& device : cluster.devices) device.jitter = 0.2;
  StageCosts costs = page_costs(2);
  for (StageTimes& times : costs.times) times.f = times.i = times.w = 1'000'000;
  const std::uint64_t seed = 77;
  const Program program = lower(schedule, costs, &cluster);
  const Timeline timeline = simulate(program, {.seed = seed});
  const auto mix = [](std::uint64_t x) {
    x ^= x >> 30U;
    x *= 0xBF58476D1CE4E5B9U;
    x ^= x >> 27U;
    x *= 0x94D049BB133111EBU;
    return x ^ x >> 31U;
  };
  for (std::uint64_t i = 0; i < program.size(); ++i) {
    if (program.instrs[i].action.op == Op::kU) continue;
    const std::uint64_t bits = mix(mix(seed + 0x9E3779B97F4A7C15U) + i);
    double sum = -131070;
    for (unsigned word = 0; word < 4; ++word) sum += static_cast<double>(bits >> 16U * word & 0xFFFFU);
    const double z = sum / 37837.2274;
    CHECK(time_of_step(timeline, to_string(program.instrs[i].action)) ==
          std::max<Ticks>(0, 1'000'000 + std::llround(0.2 * z * 1e6)));
  }
}

TEST_CASE("§5.2: of the values that a step waits for those of smaller stages come first, and extra edges last") {
  Schedule schedule = written_schedule({"0F0 0B0", "1F0 1B0", "2F0 2B0"}, 1);
  schedule.stage_edges = {{StageId{1}, StageId{2}}, {StageId{0}, StageId{2}}};
  schedule.extra_edges = {{parse_action("0F0", "edge"), parse_action("2F0", "edge")}};
  const Program program = lower(schedule, page_costs(3));
  std::string waited;
  const std::size_t at = program.lane_begin[2];
  for (std::size_t k = program.instrs[at].first_wait; k < program.instrs[at + 1].first_wait; ++k) {
    waited += to_string(program.instrs[program.waits[k].source].action) + " ";
  }
  CHECK(waited == "0F0 1F0 0F0 ");
}

TEST_CASE("§5.4: a collective starts when its last member has ended, and the updates wait until it is over") {
  Schedule schedule = written_schedule({"0F0 0B0", "0F1 0B1"}, 2);
  schedule.num_stages = 1;
  schedule.placement = {{{DeviceId{0}, DeviceId{1}}}};
  StageCosts costs = page_costs(1);
  costs.times[0].all_reduce = 50;
  const Cluster cluster = of_speeds({1, 0.5});
  const Timeline timeline = simulate(lower(schedule, costs, &cluster), {});
  for (const Span& update : steps_of(timeline, "0U0")) CHECK(update.start == 2 * (10 + 31) + 50);
  CHECK(timeline.makespan == 2 * (10 + 31) + 50 + 2 * 5);
}

TEST_CASE("§5.6: a collective that nobody waits for counts for the makespan, a copy that nobody waits for does not") {
  StageCosts costs = page_costs(1);
  costs.times[0].all_reduce = 50;
  costs.times[0].evict = 500;
  const Timeline collective = simulate(lower(synchronising(1), costs), {});
  CHECK(collective.devices[0].last_end == 46);
  CHECK(collective.makespan == 46 + 50);
  const Timeline copy = simulate(lower(written_schedule({"0F0 0B0 0U0 0EVICT@host"}, 1), costs), {});
  CHECK(copy.makespan == 46);
}

TEST_CASE("§6.1: every wait for a value of another device is a message of its own, whoever else needs the value") {
  Schedule schedule = written_schedule({"0F0 0B0", "1F0 1B0", "2F0 2B0"}, 1);
  schedule.stage_edges = {{StageId{0}, StageId{1}}, {StageId{0}, StageId{2}}};
  StageCosts costs = page_costs(3);
  costs.comm.reset();
  const Cluster cluster = of_speeds({1, 1, 1});
  const Program program = lower(schedule, costs, &cluster);
  std::string messages;
  for (const Transfer& transfer : program.transfers) {
    messages += to_string(program.instrs[transfer.producer].action) + ">" +
                to_string(program.instrs[transfer.consumer].action) + " ";
  }
  CHECK(messages == "0F0>1F0 0F0>2F0 1B0>0B0 2B0>0B0 ");
}

TEST_CASE("§7.1: copies out and copies back have a lane each, in which they go in order") {
  const Schedule schedule =
      written_schedule({"0F0 0EVICT0@host 0F1 0F2 0EVICT1@host 0LOAD0@host 0B2 0B0 0LOAD1@host 0B1"}, 3);
  const Timeline timeline =
      simulate(lower(schedule, abstract_costs("F=1,B=2,EVICT=2,LOAD=4", "", {.num_stages = 1})), {});
  // EVICT1 and LOAD0 are issued at 3, when EVICT0 is done, and are under way together.
  CHECK(steps_of(timeline, "0EVICT1@host").front().start == 3 * kPageUnit);
  CHECK(steps_of(timeline, "0LOAD0@host").front().start == 3 * kPageUnit);
  CHECK(steps_of(timeline, "0B2").front().start == 3 * kPageUnit);
  CHECK(steps_of(timeline, "0B0").front().start == (3 + 4) * kPageUnit);
  CHECK(timeline.makespan == 15 * kPageUnit);
}

TEST_CASE("§8.1: a stash lives from its maker to its last reader, a workspace as long as its step") {
  const Schedule schedule = written_schedule({"0F0 0I0 0W0"}, 1);
  const std::int64_t resident = 100 + 10 + 1;
  const auto peak = [&](std::int64_t StageMemory::*workspace) {
    StageCosts costs = page_costs(1);
    StageMemory memory;
    memory.weight_bytes = 100;
    memory.gradient_bytes = 10;
    memory.optimizer_bytes = 1;
    memory.stash = {{"a", 8, StashTensor::MadeBy::kForward, LastUse::kInputGrad},
                    {"b", 16, StashTensor::MadeBy::kForward, LastUse::kWeightGrad},
                    {"c", 32, StashTensor::MadeBy::kInputGrad, LastUse::kWeightGrad}};
    memory.*workspace = 1'000;
    costs.memory = {memory};
    return simulate(lower(schedule, costs), {}).devices[0].peak_memory_bytes;
  };
  CHECK(peak(&StageMemory::workspace_f_bytes) == resident + 8 + 16 + 1'000);
  CHECK(peak(&StageMemory::workspace_i_bytes) == resident + 8 + 16 + 32 + 1'000);
  CHECK(peak(&StageMemory::workspace_w_bytes) == resident + 16 + 32 + 1'000);
  CHECK(peak(&StageMemory::workspace_u_bytes) == resident + 1'000);
}

TEST_CASE("§8.2: a device holds weights, and in training gradients and optimizer state of every stage that it holds") {
  Schedule schedule = written_schedule({"0F0 1F0"}, 1);
  schedule.num_stages = 2;
  schedule.placement = {{{DeviceId{0}}, {DeviceId{0}}}};
  StageCosts costs = page_costs(2);
  StageMemory memory;
  memory.weight_bytes = 100;
  memory.gradient_bytes = 10;
  memory.optimizer_bytes = 1;
  costs.memory = {memory, memory};
  schedule.forward_only = true;
  CHECK(simulate(lower(schedule, costs), {}).devices[0].peak_memory_bytes == 2 * 100);
  schedule.forward_only = false;
  CHECK(simulate(lower(schedule, costs), {}).devices[0].peak_memory_bytes == 2 * 111);
}

TEST_SUITE_END();
