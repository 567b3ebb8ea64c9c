#include "trainer/device/device_worker.hpp"

namespace plumb {

/// Makes room on the last stage for what the teacher makes, until the F of its microbatch.
void DeviceWorker::make_room_for_teacher(const RunningPart& running) {
  const std::int64_t bytes = holders_.at(running.key.holder).layout().memory.logit_bytes;
  if (bytes > 0) add_value(teacher_value(plan_.program, running.key), bytes);
}

/// Returns the update of the whole run that U makes, or whose microbatches the teacher takes forward.
std::int64_t DeviceWorker::update_of(InstrIndex at) const {
  const std::int64_t per_update = plan_.options.schedule.per_update(plan_.holder(at).stage);
  const Row& row = plan_.row(at);
  const auto number = static_cast<std::int32_t>(plan_.program.instrs[at].action.microbatch);
  return row.op == Op::kU ? first_microbatch_ / per_update + number : (first_microbatch_ + row.taught) / per_update;
}

/// What the head makes for its student (X), or takes from its teacher. Only F reads it, as no stash of the last stage
/// is made again.
SoftTargets DeviceWorker::soft_targets(Op op, const RunningPart& running) {
  const auto value = live_.values.find(teacher_value(plan_.program, running.key));
  if (value == live_.values.end() || !holders_.at(running.key.holder).layout().last) return {};
  const TeacherOptions& options = plan_.options.optimization.teacher;
  SoftTargets soft{.weight = options.weight, .temperature = options.temperature};
  if (op == Op::kX) {
    soft.made = value->second.data();
  } else {
    soft.given = value->second.data();
  }
  return soft;
}

/// F of the last stage has read it.
void DeviceWorker::forget_teacher(const RunningPart& running) {
  if (!holders_.at(running.key.holder).layout().last) return;
  live_.values.erase(teacher_value(plan_.program, running.key));
}

}  // namespace plumb
