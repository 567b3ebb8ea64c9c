#include <array>

#include "schedules/catalogue/generator.hpp"

namespace plumb {
namespace {

constexpr std::array kCopies{ReplicaId{0}, ReplicaId{1}};

}  // namespace

/// Two copies of the model in opposite directions, which take turns: the forward of the next microbatch follows the
/// backward wave of the one before, device by device, so that no device ever keeps more than one activation. Both
/// copies reduce their gradients at the end. Takes p F + m p B + (m - 1) F. Any p and m (the paper: m even).
/// (GEMS: Jain et al., SC 2020, doi 10.1109/SC41405.2020.00049, the MASTER design; OSU-Nowlab/MPI4DL, gems_master.py)
///
///   p = 3, m = 2 (reductions and updates left out)
///   d0: 0F0 0B0 1:2F1 1:2B1
///   d1: 1F0 1B0 1:1F1 1:1B1
///   d2: 2F0 2B0 1:0F1 1:0B1
Schedule gems(const ScheduleParams& params) {
  require_one_chunk("gems", params);
  const std::int32_t p = params.num_devices;
  const std::int64_t m = params.num_microbatches;
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule("gems", params, 1, updates);
  auto& mirrored = schedule.placement.emplace_back();
  for (std::int32_t stage = 0; stage < p; ++stage) mirrored.push_back({DeviceId{p - 1 - stage}});
  for (std::int32_t d = 0; d < p; ++d) {
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      const auto stage = [&](ReplicaId copy) { return copy == ReplicaId{0} ? StageId{d} : StageId{p - 1 - d}; };
      const auto both = [&](ReplicaId copy, std::int64_t microbatch) {
        list.add(stage(copy), Op::kF, microbatch, copy);
        list.add(stage(copy), Op::kB, microbatch, copy);
      };
      list.repeat(m / 2, {.microbatch = 2}, [&] {
        both(ReplicaId{0}, 0);
        both(ReplicaId{1}, 1);
      });
      if (m % 2 != 0) both(ReplicaId{0}, m - 1);
      for (const ReplicaId copy : kCopies) list.add_collective(stage(copy), Op::kReduceGrad, copy);
      for (const ReplicaId copy : kCopies) list.add(stage(copy), Op::kU, 0, copy);
    }));
  }
  return schedule;
}

}  // namespace plumb
