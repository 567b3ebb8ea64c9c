#include "trainer/executors/forward_reruns.hpp"

#include <algorithm>

#include "schedules/program/waits.hpp"

namespace plumb {

void ForwardReruns::rerun_forwards(DeviceWorker& worker) {
  if (!worker.pending_reruns()) return;
  validate_everywhere(worker.pending_reruns()->update);
  rerun_in_order(worker);
}

/// Runs all devices to the end of their validations of `update`, each as far as it gets.
void ForwardReruns::validate_everywhere(std::int32_t update) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& worker : part_.workers) {
      const InstrIndex limit = worker->plan().validation.end_of_validation(worker->device(), update);
      while (worker->position() < limit && !worker->must_rerun() && is_ready(*worker)) {
        worker->step();
        changed = true;
      }
    }
  }
}

/// Runs first what messages come from.
void ForwardReruns::rerun_in_order(DeviceWorker& worker) {
  if (!worker.pending_reruns()) return;
  for (const std::uint32_t transfer : worker.pending_reruns()->messages) {
    const Channel& channel = program_.channels[program_.transfers[transfer].channel];
    rerun_in_order(*part_.workers[index(channel.from)]);
  }
  worker.rerun_forwards();
}

bool ForwardReruns::is_ready(const DeviceWorker& worker) const {
  const InstrIndex at = worker.position();
  return all_waits(program_, at, worker.plan().unit_end(at), [&](const Wait& wait) {
    return all_sources(program_, wait, [&](InstrIndex source) { return is_done(source); });
  });
}

bool ForwardReruns::is_done(InstrIndex at) const {
  return at < part_.workers[index(device_of(program_, at))]->position();
}

}  // namespace plumb
