#include "sim/order_search/schedule_blocks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/registry.hpp"
#include "sim/order_search/pair_savings.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {
namespace {

Schedule plain_frame(std::int32_t p, std::int64_t m, std::int32_t chunks = 1) {
  return looped_schedule("frame", {.num_devices = p, .num_microbatches = m}, chunks, 1);
}

/// Two devices of a node at half and at full speed, 1 byte per nanosecond and 5 ns of latency between them.
Cluster unlike_pair() {
  Cluster cluster;
  cluster.devices.assign(2, {});
  cluster.devices[0].speed = 0.5;
  cluster.devices_per_node = 2;
  cluster.intra_node = {.latency_ns = 5, .bytes_per_s = 1e9};
  cluster.finish();
  return cluster;
}

/// Bytes of two stages, all different.
StageCosts costs_in_bytes() {
  StageCosts costs;
  costs.times = {{.f = 10, .b = 24, .i = 11, .w = 12}, {.f = 20, .b = 41, .i = 21, .w = 22}};
  for (std::int64_t s = 0; s < 2; ++s) {
    StageMemory memory;
    memory.weight_bytes = 100 + s;
    memory.gradient_bytes = 200 + s;
    memory.optimizer_bytes = 300 + s;
    memory.output_bytes = s == 0 ? 7 : 0;
    memory.input_bytes = s == 1 ? 7 : 0;
    memory.input_last_use = LastUse::kWeightGrad;
    memory.input_grad_bytes = s == 1 ? 9 : 0;
    memory.output_grad_bytes = s == 0 ? 9 : 0;
    memory.stash = {{.name = "a", .bytes = 40, .last_use = LastUse::kInputGrad},
                    {.name = "b", .bytes = 50, .last_use = LastUse::kWeightGrad}};
    memory.workspace_f_bytes = 3;
    memory.workspace_b_bytes = 8 + s;
    memory.workspace_i_bytes = 6;
    memory.workspace_w_bytes = 5;
    costs.memory.push_back(memory);
  }
  return costs;
}

}  // namespace

TEST_CASE("blocks are forwards in order, then backwards back, each with the time of its stage on its device") {
  const Cluster cluster = unlike_pair();
  const StageCosts costs = costs_in_bytes();
  const BlockProblem whole = schedule_blocks(plain_frame(2, 4), {.stages = costs, .cluster = &cluster});
  const auto text = [](const BlockProblem& problem) {
    std::string all;
    for (const WorkBlock& block : problem.blocks) {
      all += block.name + "@" + std::to_string(block.devices.front()) + " " + std::to_string(block.time);
      for (const WorkBlock::Input& input : block.inputs) {
        all += " <" + problem.block(input.block).name + "+" + std::to_string(input.delay);
      }
      all += "; ";
    }
    return all;
  };
  // Seven bytes forwards take 5 + 7, nine back 5 + 9.
  CHECK(text(whole) == "0F@0 20; 1F@1 20 <0F+12; 1B@1 41 <1F+0; 0B@0 48 <1B+14; ");
  const BlockProblem split = schedule_blocks(plain_frame(2, 4), {.stages = costs, .cluster = &cluster, .split = true});
  CHECK(text(split) == "0F@0 20; 1F@1 20 <0F+12; 1I@1 21 <1F+0; 1W@1 22 <1I+0; 0I@0 22 <1I+14; 0W@0 24 <0I+0; ");
  StageCosts fixed = costs;
  fixed.message_bytes = 30;  // of every message
  CHECK(text(schedule_blocks(plain_frame(2, 4), {.stages = fixed, .cluster = &cluster})) ==
        "0F@0 20; 1F@1 20 <0F+35; 1B@1 41 <1F+0; 0B@0 48 <1B+35; ");
  fixed.comm = 3;
  CHECK(text(schedule_blocks(plain_frame(2, 4), {.stages = fixed, .cluster = &cluster})) ==
        "0F@0 20; 1F@1 20 <0F+3; 1B@1 41 <1F+0; 0B@0 48 <1B+3; ");
  fixed.comm.reset();
  CHECK(text(schedule_blocks(plain_frame(2, 4), {.stages = fixed})) ==
        "0F@0 10; 1F@1 20 <0F+0; 1B@1 41 <1F+0; 0B@0 24 <1B+0; ");
}

TEST_CASE("a block's stash is what its pass keeps, and a device's limit what is left beside all that is there anyway") {
  const StageCosts costs = costs_in_bytes();
  const BlockProblem whole = schedule_blocks(plain_frame(2, 4), {.stages = costs, .memory_limit = 1000});
  const auto stashes = [](const BlockProblem& problem) {
    std::vector<std::int64_t> all;
    for (const WorkBlock& block : problem.blocks) all.push_back(block.stash);
    return all;
  };
  CHECK(stashes(whole) == std::vector<std::int64_t>{90, 97, -97, -90});
  const BlockProblem split = schedule_blocks(plain_frame(2, 4), {.stages = costs, .memory_limit = 1000, .split = true});
  CHECK(stashes(split) == std::vector<std::int64_t>{90, 97, -40, -57, -40, -50});
  // 1000 less 600 of weights, 8 of workspace, and messages: two of 7 out, and one of 9 in; 603, 9, 7 in and two of 9.
  CHECK(whole.limits == std::vector<std::int64_t>{1000 - 600 - 8 - 2 * 7 - 9, 1000 - 603 - 9 - 7 - 2 * 9});
  const BlockProblem one = schedule_blocks(plain_frame(1, 4, 2), {.stages = costs, .memory_limit = 2000});
  // Both stages on one device: all that lasts, and the larger of what passes.
  CHECK(one.limits == std::vector<std::int64_t>{2000 - 1203 - std::max(8 + 2 * 7 + 9, 9 + 7 + 2 * 9)});
  const BlockProblem none = schedule_blocks(plain_frame(2, 4), {.stages = costs});
  CHECK(none.limits.front() > std::int64_t{1} << 60);
  const StageCosts units = abstract_costs("F=1,B=2", "F=0.5,B=-0.5", {.num_stages = 2});
  const BlockProblem in_units = schedule_blocks(plain_frame(2, 4), {.stages = units, .memory_limit = 1.5});
  REQUIRE(units.memory_units_per_one > 0);
  CHECK(in_units.limits.front() == units.memory_units_per_one * 3 / 2);
  CHECK(in_units.blocks.front().stash == units.memory_units_per_one / 2);
}

TEST_CASE("where holders take turns, the blocks of a turn end in its number, and stand on its holder") {
  Schedule turns = plain_frame(2, 4);
  turns.placement[0][0] = {DeviceId{0}, DeviceId{1}};
  const BlockProblem problem = schedule_blocks(turns, {.stages = costs_in_bytes()});
  CHECK(problem.together == 2);
  std::string names;
  for (const WorkBlock& block : problem.blocks) names += block.name + "@" + std::to_string(block.devices.front()) + " ";
  CHECK(names == "0F0@0 1F0@1 1B0@1 0B0@0 0F1@1 1F1@1 1B1@1 0B1@1 ");
}

TEST_CASE("what has no blocks that are the same for every microbatch is told with the reason") {
  const auto why = [](auto change) {
    Schedule schedule = generate("1f1b", {.num_devices = 2, .num_microbatches = 6});
    change(schedule);
    return why_no_blocks(schedule);
  };
  CHECK(why([](Schedule&) {}).empty());
  CHECK(why([](Schedule& s) { s.placement.push_back(s.placement[0]); }) == "it has several copies of the model");
  CHECK(why([](Schedule& s) { s.placement[0][0] = {DeviceId{0}, DeviceId{1}}; }).empty());
  CHECK(why([](Schedule& s) {
          s.placement[0][0] = {DeviceId{0}, DeviceId{1}};
          s.num_microbatches = 5;
        }) == "the turns of its stages come again after 2 microbatches, which do not divide its number of them");
  CHECK(why([](Schedule& s) { s.placement[0][0].resize(167, DeviceId{0}); }) == "its stages have too many holders");
  CHECK(why([](Schedule& s) {
          s.placement[0][0].resize(166, DeviceId{0});  // 166 turns of 2 stages of 3 passes: 996 blocks
          s.num_microbatches = 332;
          s.microbatches_per_update = {332};
        }).empty());
  CHECK(why([](Schedule& s) { s.slices.emplace(); }) == "its microbatches are not alike");
  CHECK(why([](Schedule& s) { s.microbatch_sizes = {1, 2, 1, 1, 1, 1}; }) == "its microbatches are not alike");
  CHECK(why([](Schedule& s) { s.recompute.push_back({}); }) == "it recomputes activations");
  CHECK(why([](Schedule& s) { s.extra_edges.emplace_back(); }) == "it has extra work");
  CHECK(why([](Schedule& s) { s.devices[0].actions.front().op = Op::kR; }) ==
        "its lists hold more than passes and updates");
  CHECK(why([](Schedule& s) { s.devices[0].actions.front().op = Op::kReduceGrad; }).empty());
  CHECK(why([](Schedule& s) { s.forward_only = true; }) == "it trains nothing");
  CHECK(why([](Schedule& s) { s.microbatches_per_update = {3, 3}; }) == "it has several updates");
  CHECK(why([](Schedule& s) { s.microbatches_per_update = {3}; }) == "it has several updates");
  CHECK(why([](Schedule& s) { s.weights.policy = WeightPolicy::kStash; }) == "it never flushes");
}

TEST_CASE(
    "what a pair saves is what communication it hides, or what its own time spares, and nothing where there is "
    "neither") {
  const auto saved = [](const char* times, Op one, Op other) {
    const StageCosts costs = abstract_costs(times, "", {.num_stages = 2});
    const double ticks = static_cast<double>(saved_by_pair(costs, action_of(0, one, 0), action_of(1, other, 1)));
    return ticks / (static_cast<double>(costs.base.ticks_per_ns) * 1e6);
  };
  CHECK(saved("F=1,B=2,FB=2.5", Op::kF, Op::kB) == doctest::Approx(0.5));
  CHECK(saved("F=1,B=2,FB=2.5", Op::kB, Op::kF) == doctest::Approx(0.5));
  CHECK(saved("F=1,B=2,FF=1.5", Op::kF, Op::kF) == doctest::Approx(0.5));
  CHECK(saved("F=1,B=2,FB=3.5", Op::kF, Op::kB) == doctest::Approx(-0.5));
  CHECK(saved("F=1,B=2", Op::kF, Op::kB) == doctest::Approx(0));
  CHECK(saved("F=3,I=2,W=4", Op::kF, Op::kW) == doctest::Approx(0));
  CHECK(pairs_may_save(abstract_costs("F=1,B=2,FB=2.5", "", {.num_stages = 2})));
  for (const char* times : {"F=3,I=2,W=2,F.comm=1", "F=3,I=2,W=2,I.comm=1"}) {
    CHECK(pairs_may_save(abstract_costs(times, "", {.num_stages = 2})));
  }
  CHECK_FALSE(pairs_may_save(abstract_costs("F=3,I=2,W=2", "", {.num_stages = 2})));
  CHECK(has_overlapped_pairs(generate("1f1b-overlap", {.num_devices = 2, .num_microbatches = 6})));
  CHECK_FALSE(has_overlapped_pairs(generate("1f1b", {.num_devices = 2, .num_microbatches = 6})));
}

TEST_CASE("the time of a pair on a slower device is that of its parts there") {
  const StageCosts given = abstract_costs("F=1,B=2,FB=2.5", "", {.num_stages = 1});
  const StageTimes& times = given.times.front();
  const PassInPair forward{StageId{0}, Op::kF, 2 * times.f};
  const PassInPair backward{StageId{0}, Op::kB, 2 * times.b};
  CHECK(ticks_of_pair(given, forward, backward, 0.5) == 2 * (times.f + times.b) * 5 / 6);
}

}  // namespace plumb::testing

TEST_SUITE_END();
