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
  const InstrIndex end = worker.plan().unit_end(at);
  for (std::uint32_t i = program_.instrs[at].first_wait; i < program_.instrs[end].first_wait; ++i) {
    if (!is_over(program_.waits[i])) return false;
  }
  return true;
}

bool ForwardReruns::is_over(const Wait& wait) const {
  if (is_for_transfer(wait)) return is_done(program_.transfers[wait.via].issue);
  if (!is_for_collective(wait)) return is_done(wait.source);
  return std::ranges::all_of(program_.collectives[collective_of(wait)].members,
                             [&](InstrIndex member) { return is_done(member); });
}

bool ForwardReruns::is_done(InstrIndex at) const {
  return at < part_.workers[index(device_of(program_, at))]->position();
}

}  // namespace plumb
