#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "schedules/lowering/lower.hpp"
#include "schedules/program/program_text.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/lines.hpp"
#include "tests/support/written_schedule.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

/// One stage on every device, a copy each; 1000 bytes of gradients, 400 of weights.
Schedule copies(const std::vector<std::string>& lists, std::int64_t m) {
  Schedule schedule = written_schedule(lists, m);
  schedule.num_stages = 1;
  schedule.placement = {{{}}};
  for (std::int32_t device = 0; device < schedule.num_devices; ++device) {
    schedule.placement[0][0].push_back(DeviceId{device});
  }
  return schedule;
}

StageCosts copy_costs(const Schedule& schedule) {
  StageCosts costs;
  const auto stages = static_cast<std::size_t>(schedule.num_stages);
  costs.times.assign(stages, StageTimes{.f = 1, .b = 2, .u = 1});
  costs.memory.assign(stages, StageMemory{.weight_bytes = 400, .frozen_bytes = 100, .gradient_bytes = 1000});
  return costs;
}

Cluster ring_cluster(std::int32_t devices) {
  Cluster cluster;
  cluster.devices.resize(static_cast<std::size_t>(devices));
  cluster.devices_per_node = devices;
  cluster.intra_node = {.latency_ns = 100, .bytes_per_s = 1e9};
  cluster.finish();
  return cluster;
}

std::string collective_lines(const Schedule& schedule, const StageCosts& costs, const Cluster* cluster = nullptr) {
  return program_to_text(lower(schedule, costs, cluster));
}

}  // namespace

TEST_CASE("copies reduce once per update in a ring over their devices, or as long as the costs say") {
  const Schedule schedule = copies({"0F0 0B0", "0F1 0B1", "0F2 0B2", "0F3 0B3"}, 4);
  StageCosts costs = copy_costs(schedule);
  const std::string lanes =
      lines({"d0: 0F0 0B0 0REDUCE_GRAD 0U0{collective 0}", "d1: 0F1 0B1 0REDUCE_GRAD 0U0{collective 0}",
             "d2: 0F2 0B2 0REDUCE_GRAD 0U0{collective 0}", "d3: 0F3 0B3 0REDUCE_GRAD 0U0{collective 0}"});
  const std::string members =
      "collective 0: d0 0REDUCE_GRAD d1 0REDUCE_GRAD d2 0REDUCE_GRAD d3 0REDUCE_GRAD, 1000 bytes, ";
  const Cluster cluster = ring_cluster(4);
  // 2 x 3 steps of a quarter of the bytes and 100 ns
  CHECK(collective_lines(schedule, costs, &cluster) == lanes + members + "2100 ticks\n");
  CHECK(collective_lines(schedule, costs) == lanes + members + "0 ticks\n");
  costs.base.ticks_per_ns = 3;
  CHECK(collective_lines(schedule, costs, &cluster) == lanes + members + "6300 ticks\n");
  costs.times[0].all_reduce = 77;
  CHECK(collective_lines(schedule, costs, &cluster) == lanes + members + "77 ticks\n");
}

TEST_CASE("groups of devices reduce for themselves, and who is alone in a group does not") {
  Schedule schedule = copies({"0F0 0B0", "0F1 0B1", "0F2 0B2"}, 3);
  schedule.reduce_groups = {{DeviceId{0}, DeviceId{2}}, {DeviceId{1}}};
  CHECK(collective_lines(schedule, copy_costs(schedule)) ==
        lines({"d0: 0F0 0B0 0REDUCE_GRAD 0U0{collective 0}", "d1: 0F1 0B1 0U0",
               "d2: 0F2 0B2 0REDUCE_GRAD 0U0{collective 0}",
               "collective 0: d0 0REDUCE_GRAD d2 0REDUCE_GRAD, 1000 bytes, 0 ticks"}));
}

TEST_CASE("every update reduces, and a stage of which the document has no update waits for none") {
  Schedule schedule = copies({"0F0 0B0 0F2 0B2", "0F1 0B1 0F3 0B3"}, 4);
  schedule.microbatches_per_update = {2};
  CHECK(collective_lines(schedule, copy_costs(schedule)) ==
        lines({"d0: 0F0 0B0 0REDUCE_GRAD 0U0{collective 0} 0F2 0B2 0REDUCE_GRAD 0U1{collective 1}",
               "d1: 0F1 0B1 0REDUCE_GRAD 0U0{collective 0} 0F3 0B3 0REDUCE_GRAD 0U1{collective 1}",
               "collective 0: d0 0REDUCE_GRAD d1 0REDUCE_GRAD, 1000 bytes, 0 ticks",
               "collective 1: d0 0REDUCE_GRAD d1 0REDUCE_GRAD, 1000 bytes, 0 ticks"}));
}

TEST_CASE("a copy that reduces or updates more or less often than the others is named") {
  const auto told = [](const std::string& second) {
    const Schedule schedule = copies({"0F0 0B0 0REDUCE_GRAD 0U0", second}, 2);
    return error_message([&] { lower(schedule, copy_costs(schedule)); });
  };
  const std::string begin = "stage 0 on device 1 reduces ";
  const std::string end = " times; expected 1 times each, as its other holders";
  CHECK(told("0F1 0B1 0REDUCE_GRAD 0U0") == "");
  CHECK(told("0F1 0B1 0REDUCE_GRAD 0REDUCE_GRAD 0U0") == begin + "2 times and updates 1" + end);
  CHECK(told("0F1 0B1 0REDUCE_GRAD 0U0 0U1") == begin + "1 times and updates 2" + end);
}

TEST_CASE("a shared weight leaves the reductions of both of its stages, and is one of all their holders") {
  Schedule schedule = written_schedule({"0F0 0B0", "1F0 1B0", "0F1 0B1", "1F1 1B1"}, 2);
  schedule.num_stages = 2;
  schedule.placement = {{{DeviceId{0}, DeviceId{2}}, {DeviceId{1}, DeviceId{3}}}};
  StageCosts costs = copy_costs(schedule);
  costs.tied = {{StageId{0}, StageId{1}, 300}, {StageId{1}, StageId{1}, 50}};
  const std::string text = collective_lines(schedule, costs);
  CHECK(text.substr(text.find("collective 0:")) ==
        lines({"collective 0: d0 0REDUCE_GRAD d2 0REDUCE_GRAD, 700 bytes, 0 ticks",
               "collective 1: d1 1REDUCE_GRAD d3 1REDUCE_GRAD, 700 bytes, 0 ticks",
               "collective 2 (tied): d0 0REDUCE_GRAD d2 0REDUCE_GRAD d1 1REDUCE_GRAD d3 1REDUCE_GRAD, 300 bytes, 0 "
               "ticks"}));
}

TEST_CASE("weights are synchronized over all copies, and each goes on when the mean so many before is there") {
  const auto lowered_syncs = [](std::int32_t distance, const Cluster* cluster) {
    Schedule schedule = copies(
        {"0F0 0B0 0U0 0SYNC_WEIGHTS 0F2 0B2 0U1 0SYNC_WEIGHTS", "0F1 0B1 0U0 0SYNC_WEIGHTS 0F3 0B3 0U1 0SYNC_WEIGHTS"},
        4);
    schedule.microbatches_per_update = {2};
    schedule.weights.policy = WeightPolicy::kLatest;
    schedule.weights.sync_distance = distance;
    schedule.reduce_groups = {{DeviceId{0}}, {DeviceId{1}}};
    return lower(schedule, copy_costs(schedule), cluster);
  };
  const Cluster cluster = ring_cluster(2);
  for (const std::int32_t distance : {0, 1, 2}) {
    CAPTURE(distance);
    const Program program = lowered_syncs(distance, &cluster);
    REQUIRE(program.collectives.size() == 2);
    for (const Collective& collective : program.collectives) {
      CHECK(collective.kind == Collective::Kind::kSyncWeights);
      CHECK(collective.bytes == 300);                 // what updates change
      CHECK(collective.duration == 2 * (100 + 150));  // two steps of half of it
      CHECK(collective.members.size() == 2);
    }
    // The instr behind a SYNC_WEIGHTS is its second half, which waits.
    std::vector<std::pair<InstrIndex, std::uint32_t>> waits;
    for (InstrIndex at = 0; at < program.size(); ++at) {
      for (std::uint32_t w = program.instrs[at].first_wait; w < program.instrs[at + 1].first_wait; ++w) {
        if ((program.waits[w].via & Wait::kCollectiveBit) == 0 || program.waits[w].via >= Wait::kLatency) continue;
        waits.emplace_back(at, program.waits[w].via & ~Wait::kCollectiveBit);
      }
    }
    std::vector<std::pair<InstrIndex, std::uint32_t>> expected;
    for (std::size_t device = 0; device < 2; ++device) {
      for (std::uint32_t number = static_cast<std::uint32_t>(distance); number < 2; ++number) {
        expected.emplace_back(program.collectives[number].members[device] + 1,
                              number - static_cast<std::uint32_t>(distance));
      }
    }
    CHECK(waits == expected);
  }
  CHECK(lowered_syncs(0, nullptr).collectives[0].duration == 0);
}

}  // namespace plumb::testing

TEST_SUITE_END();
