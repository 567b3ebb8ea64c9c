#include "trainer/executors/settling.hpp"

#include <algorithm>

#include "schedules/program/waits.hpp"

namespace plumb {

void Settling::settle(DeviceWorker& worker) {
  if (!worker.unsettled()) return;
  validate_everywhere(worker.unsettled()->update);
  settle_in_order(worker);
}

/// Runs all devices behind their validations of `update`, each as far as it gets.
void Settling::validate_everywhere(std::int32_t update) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& worker : part_.workers) {
      const InstrIndex limit = worker->plan().validation.behind_validation(worker->device(), update);
      while (worker->position() < limit && !worker->must_settle() && is_ready(*worker)) {
        worker->step();
        changed = true;
      }
    }
  }
}

/// Those first that messages come from.
void Settling::settle_in_order(DeviceWorker& worker) {
  if (!worker.unsettled()) return;
  for (const std::uint32_t transfer : worker.unsettled()->messages) {
    const Channel& channel = program_.channels[program_.transfers[transfer].channel];
    settle_in_order(*part_.workers[index(channel.from)]);
  }
  worker.settle();
}

bool Settling::is_ready(const DeviceWorker& worker) const {
  const InstrIndex at = worker.position();
  const InstrIndex behind = worker.plan().behind(at);
  for (std::uint32_t i = program_.instrs[at].first_wait; i < program_.instrs[behind].first_wait; ++i) {
    if (!is_over(program_.waits[i])) return false;
  }
  return true;
}

bool Settling::is_over(const Wait& wait) const {
  if (is_for_transfer(wait)) return is_done(program_.transfers[wait.via].issue);
  if (!is_for_collective(wait)) return is_done(wait.source);
  return std::ranges::all_of(program_.collectives[collective_of(wait)].members,
                             [&](InstrIndex member) { return is_done(member); });
}

bool Settling::is_done(InstrIndex at) const { return at < part_.workers[index(device_of(program_, at))]->position(); }

}  // namespace plumb
