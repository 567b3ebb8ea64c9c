#include <algorithm>
#include <string>

#include "schedules/catalogue/asynchronous/flush_free.hpp"

namespace plumb {
namespace {

constexpr std::string_view kHetPipe = "hetpipe";
constexpr std::int64_t kMostWorkers = 32767;  ///< replicas of a document

/// What `hetpipe` is made of.
struct HetPipePlan {
  std::int64_t workers = 0;     ///< virtual workers
  std::int64_t stages = 0;      ///< devices of each
  std::int64_t concurrent = 0;  ///< Nm: minibatches of a virtual worker under way at once
  std::int64_t distance = 0;    ///< D: waves that a virtual worker may run ahead
};

HetPipePlan plan_of(const ScheduleParams& params) {
  const std::int64_t p = params.num_devices;
  HetPipePlan plan;
  plan.workers = whole_number(kHetPipe, params, "virtual-workers", 2);
  require(plan.workers <= kMostWorkers, kHetPipe,
          "virtual-workers (" + std::to_string(plan.workers) + ") must be at most " + std::to_string(kMostWorkers));
  require(p % plan.workers == 0, kHetPipe,
          "num_devices (" + std::to_string(p) + ") must be a multiple of virtual-workers (" +
              std::to_string(plan.workers) + ")");
  require(params.num_microbatches % plan.workers == 0, kHetPipe,
          "num_microbatches (" + std::to_string(params.num_microbatches) + ") must be a multiple of virtual-workers (" +
              std::to_string(plan.workers) + ")");
  plan.stages = p / plan.workers;
  plan.concurrent = whole_number(kHetPipe, params, "concurrent", plan.stages);
  require(plan.concurrent <= plan.stages, kHetPipe,
          "concurrent (" + std::to_string(plan.concurrent) + ") must be at most the devices of a virtual worker (" +
              std::to_string(plan.stages) + ")");
  if (params.options.contains("distance") && params.options.at("distance") != "0") {
    plan.distance = whole_number(kHetPipe, params, "distance", 1);
    require(plan.distance <= kMostMicrobatches, kHetPipe,
            "distance (" + std::to_string(plan.distance) + ") must be at most " + std::to_string(kMostMicrobatches));
  }
  return plan;
}

}  // namespace

/// Virtual workers of p / n devices, each a whole pipeline with weight stashing and Nm minibatches under way: 1F1B
/// without flush, at most Nm - 1 forwards ahead, and a local update after every minibatch (m / n microbatches here;
/// the paper: 1). Nm minibatches in a row are a wave; after its last update the virtual workers exchange their
/// updates (method wsp), where nobody may be more than D waves ahead of the slowest (wave synchronous parallel).
/// `virtual-workers=n` (default 2), `concurrent=Nm` (default and most: p / n), `distance=D` (default 0). p and m
/// multiples of n. A device keeps at most Nm activations and Nm versions. The paper sends aggregated updates through
/// parameter servers; here it is a collective of the stage's holders. (Park et al., HetPipe, arXiv 2005.14038, sections
/// 4 and 5)
///
///   p = 4, m = 2, 4 updates: two virtual workers of two devices (the second holds devices 2 and 3)
///   d0: 0F0 0F2 0B0 0U0 0F4 0B2 0U1 0SYNC_WEIGHTS 0F6 0B4 0U2 0B6 0U3 0SYNC_WEIGHTS
///   d1: 1F0 1B0 1U0 1F2 1B2 1U1 1SYNC_WEIGHTS 1F4 1B4 1U2 1F6 1B6 1U3 1SYNC_WEIGHTS
Schedule hetpipe(const ScheduleParams& params) {
  require_one_chunk(kHetPipe, params);
  const HetPipePlan plan = plan_of(params);
  const std::int64_t per_update = params.num_microbatches / plan.workers;
  const std::int64_t most = std::max<std::int64_t>(kMostMicrobatches / params.num_microbatches, 1);
  const std::int64_t updates = updates_or(params, std::min(4 * plan.concurrent, most));
  Schedule schedule = looped_schedule(kHetPipe, params, 1, updates);
  schedule.parameters["updates"] = updates;
  schedule.parameters["virtual-workers"] = plan.workers;
  schedule.parameters["concurrent"] = plan.concurrent;
  schedule.parameters["distance"] = plan.distance;
  schedule.num_stages = static_cast<std::int32_t>(plan.stages);
  schedule.weights.policy = WeightPolicy::kStash;
  schedule.weights.sync_distance = static_cast<std::int32_t>(plan.distance);
  if (plan.workers > 1) schedule.weights.methods = {{"wsp", {}}};
  schedule.placement.assign(static_cast<std::size_t>(plan.workers), {});
  schedule.reduce_groups = {{}};
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    const std::int64_t worker = d / plan.stages;
    const std::int64_t stage = d % plan.stages;
    schedule.placement[static_cast<std::size_t>(worker)].push_back({DeviceId{d}});
    ListBuilder list;
    add_turns(list, {.stage = StageId{static_cast<std::int32_t>(stage)},
                     .replica = ReplicaId{static_cast<std::int16_t>(worker)},
                     .microbatches = schedule.num_microbatches / plan.workers,
                     .per_update = per_update,
                     .warmup = std::min(plan.concurrent, plan.stages - stage) - 1,
                     .first = worker,
                     .stride = plan.workers,
                     .syncs_each = plan.workers > 1 ? plan.concurrent : 0});
    schedule.devices.push_back(list.take());
  }
  return schedule;
}

}  // namespace plumb
