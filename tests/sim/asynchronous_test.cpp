#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sim/memory/memory.hpp"
#include "tests/support/simulated.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb {
namespace {

using testing::Case;
using testing::in_units;
using testing::simulated;

constexpr std::int64_t kWeightBytes = 1000;

/// Bytes of weights and of their versions and corrections on each device when most of these are alive.
std::vector<std::int64_t> weight_memory(Case c) {
  c.chunks = 0;
  const Schedule schedule = testing::schedule_of(c);
  StageCosts costs;
  costs.times.assign(static_cast<std::size_t>(schedule.num_stages), StageTimes{.f = 1, .b = 2, .i = 1, .w = 1});
  costs.memory.assign(static_cast<std::size_t>(schedule.num_stages), StageMemory{.weight_bytes = kWeightBytes});
  costs.comm = 0;
  const Program program = lower(schedule, costs);
  const MemoryModel model(program);
  std::vector<std::int64_t> most;
  for (std::int32_t d = 0; d < schedule.num_devices; ++d) {
    std::int64_t resident = 0;
    for (const Holder& holder : program.holders) {
      if (holder.device == DeviceId{d}) resident += kWeightBytes * (1 + holder.correction_buffers);
    }
    std::int64_t versions = 0;
    std::int64_t most_versions = 0;
    for (const MemoryChange& change : model.changes(DeviceId{d})) {
      if (change.cls == MemoryClass::kWeightVersions) most_versions = std::max(most_versions, versions += change.bytes);
    }
    most.push_back(resident + most_versions);
  }
  return most;
}

using Copies = std::vector<std::int64_t>;

/// `copies` of a stage's weights for each device.
Copies bytes_of(Copies copies) {
  for (std::int64_t& count : copies) count *= kWeightBytes;
  return copies;
}

}  // namespace

TEST_CASE("asynchronous schedules are busy all the time once full, at equal stages and free transfers") {
  for (const std::string name : {"pipedream", "pipedream-vs", "pipedream-2bw", "pipemare", "spectrain", "xpipe",
                                 "pipeoptim", "pipelined-backpropagation", "avgpipe", "wpipe", "amdp", "paci"}) {
    for (const std::int32_t p : {2, 4, 8}) {
      for (const std::int64_t m : {2 * p, 4 * p}) {
        CAPTURE(name);
        CAPTURE(p);
        CAPTURE(m);
        const Timeline timeline = simulated({.name = name, .p = p, .m = m, .cost = "F=1,B=1", .chunks = 0});
        CHECK(timeline.utilization == doctest::Approx(1).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("a half of acco takes its passes or its reduction, whichever is longer; data parallelism takes both") {
  constexpr double kHalves = 8;
  constexpr double kPasses = 2 * 3;
  for (const int reduction : {0, 1, 5, 6, 7, 20}) {
    CAPTURE(reduction);
    const std::string cost = "F=1,B=2,AR=" + std::to_string(reduction);
    const Timeline hidden = simulated({.name = "acco", .p = 4, .m = 8, .cost = cost, .updates = 8});
    CHECK(in_units(hidden.makespan, hidden.base) ==
          kPasses + (kHalves - 1) * std::max<double>(kPasses, reduction) + reduction);
    const Timeline shown =
        simulated({.name = "dapple", .p = 4, .m = 16, .cost = cost, .updates = 4, .options = {{"replicas", "4"}}});
    CHECK(in_units(shown.makespan, shown.base) == kHalves / 2 * (2 * kPasses + reduction));
  }
}

TEST_CASE("utilization of pipemare in slots over gpipe is (N + P - 1) / N: 14.25, 7.625 and 4.3125 at P = 107") {
  for (const auto& [n, gain] : std::map<std::int64_t, double>{{8, 14.25}, {16, 7.625}, {32, 4.3125}}) {
    CAPTURE(n);
    const Timeline asynchronous =
        simulated({.name = "pipemare", .p = 107, .m = n, .cost = "F=1,B=1", .options = {{"timing", "slots"}}});
    const Timeline synchronous = simulated({.name = "gpipe", .p = 107, .m = n, .cost = "F=1,B=1"});
    CHECK(asynchronous.utilization / synchronous.utilization == doctest::Approx(gain));
  }
}

TEST_CASE("E synchronous updates of pipemare take E (N + P - 1) of the time that the others take N of") {
  const auto makespan = [](std::int64_t updates, std::int64_t synchronous) {
    const Timeline timeline =
        simulated({.name = "pipemare",
                   .p = 4,
                   .m = 8,
                   .updates = updates,
                   .options = {{"synchronous", std::to_string(synchronous)}, {"timing", "1f1b"}}});
    return in_units(timeline.makespan, timeline.base);
  };
  for (const std::int64_t synchronous : {0, 1, 5}) {
    CAPTURE(synchronous);
    CHECK(makespan(20, synchronous) == static_cast<double>(3 * (synchronous * (8 + 3) + (20 - synchronous) * 8 + 3)));
  }
}

TEST_CASE("published makespans of 1f1b without flush and gpipe") {
  const auto makespan = [](const char* name, std::int64_t m, std::int64_t updates) {
    const Timeline timeline = simulated({.name = name, .p = 4, .m = m, .updates = updates});
    return in_units(timeline.makespan, timeline.base);
  };
  CHECK(makespan("pipedream", 2, 4) == 33);
  CHECK(makespan("gpipe", 2, 4) == 60);
  CHECK(makespan("pipedream", 4, 16) == 201);
  CHECK(makespan("gpipe", 4, 16) == 336);
}

TEST_CASE("copies of the weights on four devices are those of the published table, corrections included") {
  const auto memory = [](std::string_view name, std::int64_t m, std::map<std::string, std::string> options = {}) {
    return weight_memory({.name = name, .p = 4, .m = m, .updates = 24, .options = std::move(options)});
  };
  CHECK(memory("pipedream", 1) == bytes_of({4, 3, 2, 1}));
  CHECK(memory("pipedream", 1, {{"timing", "slots"}}) == bytes_of({8, 6, 4, 2}));
  CHECK(memory("pipedream", 2) == bytes_of({3, 2, 2, 1}));
  CHECK(memory("pipedream-vs", 1) == bytes_of({4, 4, 4, 4}));
  CHECK(memory("pipedream-2bw", 4) == bytes_of({2, 2, 2, 2}));
  CHECK(memory("pipedream-2bw", 1, {{"delay", "3"}}) == bytes_of({4, 4, 4, 4}));
  CHECK(memory("pipemare", 1) == bytes_of({1, 1, 1, 1}));
  CHECK(memory("pipemare", 1, {{"correction", "t2"}}) == bytes_of({2, 2, 2, 2}));
  CHECK(memory("pipemare", 1, {{"correction", "t2"}, {"timing", "1f1b"}}) ==
        bytes_of({2, 2, 2, 1}));  // the last stage is never behind
  CHECK(memory("spectrain", 1) == bytes_of({2, 2, 2, 2}));
  CHECK(memory("pipeoptim", 1) == bytes_of({2, 2, 2, 1}));  // the last stage has nothing to predict
  CHECK(memory("xpipe", 4) == bytes_of({3, 3, 3, 3}));
  CHECK(memory("pipelined-backpropagation", 1) == bytes_of({1, 1, 1, 1}));
  CHECK(memory("petra", 1) == bytes_of({1, 1, 1, 1}));
  CHECK(memory("paci", 3) == bytes_of({1, 1, 1, 1}));
  CHECK(memory("wpipe", 4) == bytes_of({3, 3, 3, 3}));    // two stages each: 2 of one, 1 of the other
  CHECK(memory("amdp", 4) == bytes_of({2, 2, 2, 2}));     // p / 2 stages each
  CHECK(memory("avgpipe", 4) == bytes_of({3, 3, 3, 3}));  // P' copies, which the survey counts, and the reference
  CHECK(memory("1f1b-rr", 1, {{"replicas", "2-1-1"}}) == bytes_of({2, 2, 2, 1}));
}

TEST_CASE(
    "peak memory of 2bw, inputs of stages apart, is 2|W|/d + A, with recompute 2|W|/d + A/d; of gpipe |W|/d + A/d") {
  constexpr std::int64_t kStash = 70;  // A / d
  constexpr std::int32_t kDepth = 4;
  const auto peak = [](const std::string& name, std::int64_t m, bool recompute) {
    Schedule schedule = generate(name, {.num_devices = kDepth, .num_microbatches = m, .updates = 6});
    if (recompute) schedule.recompute.push_back({.first_stage = 0, .last_stage = kDepth - 1, .microbatches = {}});
    StageMemory memory;
    memory.weight_bytes = kWeightBytes;
    memory.stash = {{.name = "stash", .bytes = kStash, .last_use = LastUse::kWeightGrad}};
    StageCosts costs;
    costs.times.assign(kDepth, StageTimes{.f = 1, .b = 2, .i = 1, .w = 1});
    costs.memory.assign(kDepth, memory);
    costs.comm = 0;
    const Program program = lower(schedule, costs);
    return MemoryModel(program).peak(DeviceId{0}).bytes;
  };
  CHECK(peak("pipedream-2bw", 8, false) == 2 * kWeightBytes + kDepth * kStash);
  CHECK(peak("pipedream-2bw", 8, true) == 2 * kWeightBytes + kStash);
  CHECK(peak("1f1b", 8, false) == kWeightBytes + kDepth * kStash);
  CHECK(peak("gpipe", 8, true) == kWeightBytes + kStash);
}

}  // namespace plumb

TEST_SUITE_END();
