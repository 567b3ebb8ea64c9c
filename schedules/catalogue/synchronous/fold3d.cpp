#include "schedules/catalogue/generator.hpp"

namespace plumb {
namespace {

/// Writes one device's step: everything of one chunk, then everything of the next, and back.
struct SegmentWriter {
  ListBuilder& list;
  std::int32_t device;  ///< within its pipeline
  std::int32_t length;  ///< devices of a pipeline
  std::int32_t chunks;
  std::int64_t first;  ///< microbatch of the pipeline in the step
  std::int64_t count;  ///< microbatches of the pipeline in the step
  ReplicaId replica;
  bool reduces;

  StageId stage(std::int32_t chunk) const { return StageId{chunk * length + device}; }

  void step() const {
    for (std::int32_t chunk = 0; chunk < chunks; ++chunk) {
      list.each(count, [&] { list.add(stage(chunk), Op::kF, first, replica); });
    }
    for (std::int32_t chunk = chunks; chunk-- > 0;) {
      list.each(count, [&] { list.add(stage(chunk), Op::kB, first, replica); });
      if (reduces) list.add_collective(stage(chunk), Op::kReduceGrad, replica);
    }
    for (std::int32_t chunk = chunks; chunk-- > 0;) list.add(stage(chunk), Op::kU, 0, replica);
  }
};

}  // namespace

/// "All in, all out": the model is cut into v segments, each over all devices of a pipeline (looped placement). All
/// microbatches enter a segment and leave it before the next one starts, and the reduction of a segment's gradients
/// over the copies of the model begins after its last backward, so that it folds into the backwards of the segments
/// before; only that of the first segment is left over: T = (m' + (p' - 1) / v)(F + B) + AR / v for p' = p / replicas
/// devices and m' = m / replicas microbatches of a pipeline, as long as AR <= m' B. Every device keeps all m'
/// activations. `replicas` must divide p and m (default 1: nothing to reduce). (Li et al., Fold3D, IEEE TPDS 2023; the
/// order is that of arXiv 2211.05953)
///
///   p = 4, replicas = 2, v = 2, m = 4 (devices 2 and 3 alike, with replica 1 and microbatches 2 and 3)
///   d0: 0F0 0F1 2F0 2F1 2B0 2B1 2REDUCE_GRAD 0B0 0B1 0REDUCE_GRAD 2U0 0U0
///   d1: 1F0 1F1 3F0 3F1 3B0 3B1 3REDUCE_GRAD 1B0 1B1 1REDUCE_GRAD 3U0 1U0
Schedule fold3d(const ScheduleParams& params) {
  const std::int32_t chunks = params.chunks > 0 ? params.chunks : 2;
  const std::int64_t replicas = whole_number("fold3d", params, "replicas", 1);
  const std::int64_t m = params.num_microbatches;
  const std::int32_t p = params.num_devices;
  require(p % replicas == 0 && m % replicas == 0 && replicas <= 32767, "fold3d",
          "replicas (" + std::to_string(replicas) + ") must divide num_devices (" + std::to_string(p) +
              ") and num_microbatches (" + std::to_string(m) + ")");
  const std::int64_t updates = updates_or(params, 1);
  const std::int32_t length = p / static_cast<std::int32_t>(replicas);
  Schedule schedule = looped_schedule("fold3d", params, chunks, updates);
  schedule.parameters["replicas"] = replicas;
  schedule.num_stages = length * chunks;
  schedule.placement.assign(static_cast<std::size_t>(replicas), {});
  for (std::int32_t replica = 0; replica < replicas; ++replica) {
    for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
      schedule.placement[static_cast<std::size_t>(replica)].push_back({DeviceId{replica * length + stage % length}});
    }
  }
  for (std::int32_t d = 0; d < p; ++d) {
    const std::int64_t share = m / replicas;
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      SegmentWriter{.list = list,
                    .device = d % length,
                    .length = length,
                    .chunks = chunks,
                    .first = d / length * share,
                    .count = share,
                    .replica = ReplicaId{static_cast<std::int16_t>(d / length)},
                    .reduces = replicas > 1}
          .step();
    }));
  }
  return schedule;
}

}  // namespace plumb
