#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/sources/abstract_costs.hpp"
#include "sim/simulate.hpp"
#include "tests/support/written_schedule.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb {
namespace {

using testing::written_schedule;

constexpr Ticks kUnit = 1'000'000;

Timeline timeline_of(const Schedule& schedule, const std::string& costs, const std::string& memory = "",
                     const SimOptions& options = {}) {
  const StageCosts stages = abstract_costs(costs, memory, {.num_stages = schedule.num_stages});
  return simulate(lower(schedule, stages), options);
}

Ticks start_of(const Timeline& timeline, Op op, std::int32_t microbatch, std::int16_t slice = Action::kAllSlices) {
  for (const Span& span : timeline.spans) {
    const bool same = span.action.op == op && span.action.microbatch == MicrobatchId{microbatch};
    if (same && span.action.slice == slice && span.lane == Lane::kCompute) return span.start;
  }
  FAIL("no such span");
  return -1;
}

Ticks idle(const Timeline& timeline, std::size_t device, IdleCause cause) {
  return timeline.devices[device].idle_causes[static_cast<std::size_t>(cause)];
}

}  // namespace

TEST_CASE("§7.3: an EVICT overlaps what follows it, the next one waits for it, and a backward waits for its LOAD") {
  const Schedule schedule =
      written_schedule({"0F0 0EVICT0@host 0F1 0EVICT1@host 0F2 0B2 0LOAD1@host 0LOAD0@host 0B1 0B0"}, 3);
  for (const EngineChoice engine : {EngineChoice::kPass, EngineChoice::kEvent}) {
    for (const TransferMode mode : {TransferMode::kBuffered, TransferMode::kFifo, TransferMode::kRendezvous,
                                    TransferMode::kBlocking, TransferMode::kBatched, TransferMode::kPairFifo}) {
      CAPTURE(static_cast<int>(engine));
      CAPTURE(static_cast<int>(mode));
      const Timeline timeline =
          timeline_of(schedule, "F=1,B=2,EVICT=3,LOAD=1", "", {.engine = engine, .transfers = mode});
      CHECK(start_of(timeline, Op::kF, 1) == 1 * kUnit);      // while 0 is copied, from 1 to 4
      CHECK(start_of(timeline, Op::kEvict, 1) == 4 * kUnit);  // waits for the copy of 0
      CHECK(start_of(timeline, Op::kF, 2) == 4 * kUnit);
      CHECK(start_of(timeline, Op::kB, 2) == 5 * kUnit);
      CHECK(start_of(timeline, Op::kLoad, 1) == 7 * kUnit);  // the copy of 1 ended at 7
      CHECK(start_of(timeline, Op::kB, 1) == 8 * kUnit);
      CHECK(start_of(timeline, Op::kB, 0) == 10 * kUnit);
      CHECK(idle(timeline, 0, IdleCause::kMemory) == (2 + 1) * kUnit);
      CHECK(timeline.makespan == 12 * kUnit);
    }
  }
}

TEST_CASE("§8.6: an evicted stash counts on the device that holds it meanwhile") {
  const Schedule schedule =
      written_schedule({"0F0 0EVICT0@1 0F1 0F2 0B2 0B1 0LOAD0@1 0B0", "1F0 1B0 1F1 1B1 1F2 1B2"}, 3);
  const Schedule whole = written_schedule({"0F0 0F1 0F2 0B2 0B1 0B0", "1F0 1B0 1F1 1B1 1F2 1B2"}, 3);
  CHECK(timeline_of(whole, "F=1,B=2").devices[0].peak_activations == 3);
  CHECK(timeline_of(whole, "F=1,B=2").devices[1].peak_activations == 1);
  CHECK(timeline_of(schedule, "F=1,B=2").devices[0].peak_activations == 2);
  CHECK(timeline_of(schedule, "F=1,B=2").devices[1].peak_activations == 2);
  CHECK(timeline_of(schedule, "F=1,B=2", "F=4,B=-4").devices[0].peak_activations == 8);
}

TEST_CASE("a stage waits for its weights, and moving them changes no stash") {
  const Schedule schedule = written_schedule({"0LOAD@host 0F0 0EVICT@host 0LOAD@host 0B0"}, 1);
  const Timeline timeline = timeline_of(schedule, "F=1,B=2,EVICT=1,LOAD=2");
  CHECK(start_of(timeline, Op::kF, 0) == 2 * kUnit);
  CHECK(start_of(timeline, Op::kB, 0) == (3 + 1 + 2) * kUnit);
  CHECK(timeline.devices[0].peak_activations == 1);
  CHECK(idle(timeline, 0, IdleCause::kMemory) == (2 + 1 + 2) * kUnit);
}

TEST_CASE("§4.2: a slice takes and keeps its share, thirds exactly, and waits for its own values only") {
  Schedule schedule =
      written_schedule({"0F0.0 0F0.1 0F0.2 0B0.2 0B0.1 0B0.0", "1F0.0 1F0.1 1F0.2 1B0.2 1B0.1 1B0.0"}, 1);
  schedule.slices = Slices{Slices::Axis::kSequence, {{1, 1, 1}}};
  const Timeline timeline = timeline_of(schedule, "F=1,B=2", "F=1,B=-1");
  const Ticks third = timeline.base.ticks_per_ns * kUnit / 3;
  CHECK(3 * third == timeline.base.ticks_per_ns * kUnit);
  CHECK(timeline.makespan == 12 * third);  // F 4 thirds deep, B twice as long
  CHECK(timeline.devices[0].peak_activations == 1);
  CHECK(timeline.devices[0].busy == 9 * third);
}

TEST_CASE("§8.5: a forward in slices and a whole backward: the peak counts parts of a microbatch") {
  Schedule schedule = written_schedule({"0F0.0 0F0.1 0F1 0B0 0B1.0 0B1.1"}, 2);
  schedule.slices = Slices{Slices::Axis::kBatch, {{1, 3}}};
  const Timeline timeline = timeline_of(schedule, "F=4,B=8");
  CHECK(start_of(timeline, Op::kF, 0, 1) == 1 * kUnit);
  CHECK(start_of(timeline, Op::kB, 1, 1) == (8 + 8 + 2) * kUnit);
  CHECK(timeline.devices[0].peak_activations == 2);
}

TEST_CASE("§4.2: costs are those of the largest microbatch; others take their share") {
  Schedule schedule = written_schedule({"0F0 0F1 0B0 0B1"}, 2);
  schedule.microbatch_sizes = {3, 1};
  const Timeline timeline = timeline_of(schedule, "F=1,B=2");
  CHECK(timeline.makespan == 4 * timeline.base.ticks_per_ns * kUnit);
}

}  // namespace plumb

TEST_SUITE_END();
