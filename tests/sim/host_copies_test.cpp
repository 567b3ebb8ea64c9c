#include <doctest/doctest.h>

#include <numeric>
#include <string>
#include <vector>

#include "schedules/catalogue/registry.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/lowering/lower.hpp"
#include "sim/simulate.hpp"
#include "tests/support/written_schedule.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb {
namespace {

using testing::written_schedule;

/// One microbatch keeps 1000 bytes; F takes 10, B 20, messages of 100 bytes 100 ns at the links' 1 byte/ns.
StageCosts costs_of(std::int32_t stages) {
  StageCosts costs;
  costs.from_network = true;
  StageTimes times;
  times.f = 10;
  times.b = 20;
  times.i = times.w = 10;
  costs.times.assign(static_cast<std::size_t>(stages), times);
  StageMemory memory;
  memory.weight_bytes = 4000;
  memory.stash = {{"kept", 1000, StashTensor::MadeBy::kForward, LastUse::kWeightGrad}};
  memory.output_bytes = memory.input_grad_bytes = memory.input_bytes = memory.output_grad_bytes = 100;
  costs.memory.assign(static_cast<std::size_t>(stages), memory);
  return costs;
}

Cluster cluster_of(std::size_t devices, const HostLink& host) {
  Cluster cluster;
  cluster.devices.resize(devices);
  cluster.devices_per_node = static_cast<std::int32_t>(devices);
  cluster.intra_node = {.bytes_per_s = 1e9};
  cluster.host_link = host;
  cluster.finish();
  return cluster;
}

Timeline timeline_of(const Schedule& schedule, const Cluster& cluster, const SimOptions& options = {}) {
  return simulate(lower(schedule, costs_of(schedule.num_stages), &cluster), options);
}

Ticks start_of(const Timeline& timeline, const std::string& text) {
  for (const Span& span : timeline.spans) {
    if (span.lane == Lane::kCompute && to_string(span.action) == text) return span.start;
  }
  FAIL("no such span: ", text);
  return -1;
}

void check_adds_up(const Timeline& timeline) {
  for (const DeviceSummary& device : timeline.devices) {
    CHECK(std::accumulate(device.idle_causes.begin(), device.idle_causes.end(), Ticks{0}) == device.idle);
    CHECK(device.busy + device.idle == timeline.makespan);
  }
  Ticks path = 0;
  for (const CriticalShare& share : timeline.critical_path) path += share.ticks;
  CHECK(path == timeline.makespan);
}

/// Two devices that send each other nothing evict at 10 and want the stash back at 20.
Schedule two_alike() {
  Schedule schedule = written_schedule(
      {"0F0 0EVICT0@host 0F2 0LOAD0@host 0B2 0B0", "1:0F1 1:0EVICT1@host 1:0F3 1:0LOAD1@host 1:0B3 1:0B1"}, 4);
  schedule.num_stages = 1;
  schedule.placement = {{{DeviceId{0}}}, {{DeviceId{1}}}};
  return schedule;
}

}  // namespace

TEST_CASE("§7.2: a stash takes the link to the host: latency, then its bytes at the link's speed, out and back") {
  const Schedule schedule = written_schedule({"0F0 0EVICT0@host 0F1 0LOAD0@host 0B1 0B0"}, 2);
  const Timeline timeline = timeline_of(schedule, cluster_of(1, {.latency_ns = 7, .bytes_per_s = 2e9}));
  CHECK(start_of(timeline, "0LOAD0@host") == 10 + 500);  // the copy out, without its latency
  CHECK(start_of(timeline, "0B1") == 510);
  CHECK(start_of(timeline, "0B0") == 510 + 500 + 7);
  CHECK(timeline.devices[0].idle_causes[static_cast<std::size_t>(IdleCause::kMemory)] == 490 + 487);
  check_adds_up(timeline);
}

TEST_CASE("weights take the link to the host with their own bytes") {
  const Schedule schedule = written_schedule({"0LOAD@host 0F0 0B0 0U0"}, 1);
  CHECK(start_of(timeline_of(schedule, cluster_of(1, {.bytes_per_s = 4e9})), "0F0") == 1000);
}

TEST_CASE("devices behind one switch get half of its link each, and all of it where it is not shared") {
  const auto back = [](const HostLink& host) {
    const Timeline timeline = timeline_of(two_alike(), cluster_of(2, host));
    check_adds_up(timeline);
    CHECK(start_of(timeline, "0B0") == start_of(timeline, "1:0B1"));
    return start_of(timeline, "0B0");
  };
  CHECK(back({.bytes_per_s = 1e9}) == 10 + 2 * 1000);
  CHECK(back({.bytes_per_s = 1e9, .devices_per_link = 2}) == 10 + 4 * 1000);
  CHECK(back({.bytes_per_s = 1e9, .host_bytes_per_s = 1e9}) == 10 + 4 * 1000);
  CHECK(back({.bytes_per_s = 1e9, .host_bytes_per_s = 1.6e9}) == 10 + 2 * 1250);
}

TEST_CASE("loads of mobius get in each other's way less where consecutive stages are below two root complexes") {
  const auto makespan = [](const char* complexes, std::int32_t devices_per_link) {
    const Schedule schedule = generate(
        "mobius", {.num_devices = 4, .num_microbatches = 4, .chunks = 2, .options = {{"complexes", complexes}}});
    StageCosts costs = costs_of(schedule.num_stages);
    for (StageTimes& times : costs.times) times.f = 1000, times.b = 2000;
    const Cluster cluster = cluster_of(4, {.bytes_per_s = 1e9, .devices_per_link = devices_per_link});
    return simulate(lower(schedule, costs, &cluster)).makespan;
  };
  CHECK(makespan("2", 1) == makespan("1", 1));
  CHECK(makespan("2", 2) < makespan("1", 2));
  CHECK(makespan("2", 2) > makespan("2", 1));  // all load at once in the beginning
}

TEST_CASE("on a half-duplex link to the host what goes out and what comes back share it") {
  // 1 goes out from 30 on while 0 comes back.
  const Schedule schedule =
      written_schedule({"0F0 0EVICT0@host 0F1 0F2 0EVICT1@host 0LOAD0@host 0B2 0B0 0LOAD1@host 0B1"}, 3);
  const auto back = [&](bool half_duplex) {
    const Timeline timeline = timeline_of(schedule, cluster_of(1, {.bytes_per_s = 1e9, .half_duplex = half_duplex}));
    check_adds_up(timeline);
    return start_of(timeline, "0B0");
  };
  CHECK(back(false) == 10 + 1000 + 1000);
  CHECK(back(true) == 10 + 1000 + 2000);
}

TEST_CASE("a stash on its way to another device shares the link of the pair with messages") {
  const Schedule with = written_schedule({"0F0 0EVICT0@1 0F1 0B1 0LOAD0@1 0B0", "1F0 1F1 1B1 1B0"}, 2);
  const Cluster cluster = cluster_of(2, {});
  const Program program = lower(with, costs_of(2), &cluster);
  REQUIRE(program.shared_links.size() == 2);
  CHECK(program.shared_links[0].name == "device0>1");
  CHECK(program.shared_links[1].name == "device1>0");
  const Timeline timeline = simulate(program);
  check_adds_up(timeline);
  // 0F0's message and the stash leave at 10: 100 bytes at half speed until 210; then 0F1's, until 410.
  CHECK(start_of(timeline, "1F0") == 210);
  CHECK(start_of(timeline, "1F1") == 410);
}

TEST_CASE("copies between devices that exchange nothing else have the link for themselves") {
  const Schedule schedule =
      written_schedule({"0F0 0EVICT0@2 0F1 0B1 0LOAD0@2 0B0", "1F0 1F1 1B1 1B0", "2F0 2F1 2B1 2B0"}, 2);
  const Cluster cluster = cluster_of(3, {});
  const Program program = lower(schedule, costs_of(3), &cluster);
  CHECK(program.shared_links.empty());
  check_adds_up(simulate(program));
}

TEST_CASE("a time that is given and abstract costs need no link") {
  const Schedule schedule = written_schedule({"0F0 0EVICT0@host 0F1 0LOAD0@host 0B1 0B0"}, 2);
  const Cluster cluster = cluster_of(1, {.bytes_per_s = 1e9});
  StageCosts costs = costs_of(1);
  costs.from_network = false;
  costs.times[0].evict = costs.times[0].load = 30;
  CHECK(start_of(simulate(lower(schedule, costs, &cluster)), "0B0") == 10 + 30 + 30);
  CHECK(start_of(simulate(lower(schedule, costs_of(1))), "0B0") == 40);
}

TEST_CASE("schedules that move stashes and weights add up on shared links, and their memory does not depend on them") {
  for (const char* name : {"pipeoffload", "bpipe", "mobius"}) {
    CAPTURE(name);
    const Schedule schedule = generate(name, {.num_devices = 4, .num_microbatches = 8});
    const Cluster own = cluster_of(4, {.bytes_per_s = 5e10});
    const Cluster shared = cluster_of(
        4, {.latency_ns = 3, .bytes_per_s = 2e9, .half_duplex = true, .devices_per_link = 2, .host_bytes_per_s = 3e9});
    const Timeline fast = timeline_of(schedule, own);
    for (const TransferMode mode : {TransferMode::kBuffered, TransferMode::kRendezvous, TransferMode::kBatched}) {
      const Timeline slow = timeline_of(schedule, shared, {.transfers = mode});
      check_adds_up(slow);
      CHECK(slow.makespan >= fast.makespan);
      for (std::size_t d = 0; d < 4; ++d) {
        CHECK(slow.devices[d].peak_memory_bytes == fast.devices[d].peak_memory_bytes);
        CHECK(slow.devices[d].peak_activations == fast.devices[d].peak_activations);
      }
    }
  }
}

}  // namespace plumb

TEST_SUITE_END();
