#include <string>

#include <doctest/doctest.h>

#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/registry.hpp"
#include "sim/simulate.hpp"
#include "tests/support/catalogue_walk.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb {
namespace {

Cluster slow_links(std::int32_t devices) {
  Cluster cluster;
  cluster.devices.resize(static_cast<std::size_t>(devices));
  cluster.devices_per_node = devices;
  cluster.intra_node.latency_ns = 100'000;
  cluster.finish();
  return cluster;
}

}  // namespace

TEST_CASE("no schedule of the catalogue hangs, however its messages travel") {
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    CAPTURE(spec.name);
    std::int32_t runs = 0;
    for (const std::int32_t p : {2, 4, 6}) {
      for (const std::int64_t m : {4, 8, 13}) {
        CAPTURE(p);
        CAPTURE(m);
        const auto schedule = testing::smallest(spec, {.num_devices = p, .num_microbatches = m});
        if (!schedule) continue;
        StageCosts costs = abstract_costs("F=1,I=1,W=0.5,U=0.3", "", {.num_stages = schedule->num_stages});
        costs.comm.reset();
        const Cluster cluster = slow_links(p);
        const Program program = lower(*schedule, costs, &cluster);
        for (const TransferMode mode :
             {TransferMode::kBuffered, TransferMode::kFifo, TransferMode::kRendezvous, TransferMode::kBatched}) {
          CAPTURE(static_cast<int>(mode));
          // Messages of a head that is computed at once stand for collectives, which no runtime puts into batches.
          const bool at_once = schedule->vocabulary && schedule->vocabulary->at_once;
          if (at_once && mode == TransferMode::kBatched) continue;
          // The teacher of tspipe runs ahead on the first devices, so its messages cannot wait for the student's.
          if (spec.name == "tspipe" && mode == TransferMode::kBatched) continue;
          CHECK_NOTHROW(simulate(program, {.transfers = mode, .spans = false, .memory_curve = false}));
          ++runs;
        }
      }
    }
    CHECK(runs > 0);
  }
}

}  // namespace plumb

TEST_SUITE_END();
