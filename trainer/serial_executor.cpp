#include "trainer/serial_executor.hpp"

#include <algorithm>

#include "schedules/lower.hpp"
#include "sim/waits.hpp"

namespace plumb {
namespace {

std::size_t device_of(const Program& program, InstrIndex at) {
  return index(program.holders[program.rows[program.instrs[at].row].holder].device);
}

/// Lets workers run forwards again that a validation found wrong; that may take validations of other devices first.
class Settling {
 public:
  explicit Settling(const RunPart& part) : part_(part), program_(part.program) {}

  void settle(DeviceWorker& worker) {
    if (!worker.unsettled()) return;
    validate_everywhere(worker.unsettled()->update);
    settle_in_order(worker);
  }

 private:
  /// Runs all devices behind their validations of `update`, each as far as it gets.
  void validate_everywhere(std::int32_t update) {
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
  void settle_in_order(DeviceWorker& worker) {
    if (!worker.unsettled()) return;
    for (const std::uint32_t transfer : worker.unsettled()->messages) {
      const Channel& channel = program_.channels[program_.transfers[transfer].channel];
      settle_in_order(*part_.workers[index(channel.from)]);
    }
    worker.settle();
  }

  bool is_ready(const DeviceWorker& worker) const {
    const InstrIndex at = worker.position();
    const InstrIndex behind = worker.plan().behind(at);
    for (std::uint32_t i = program_.instrs[at].first_wait; i < program_.instrs[behind].first_wait; ++i) {
      if (!is_over(program_.waits[i])) return false;
    }
    return true;
  }

  bool is_over(const Wait& wait) const {
    if (is_for_transfer(wait)) return is_done(program_.transfers[wait.via].issue);
    if (!is_for_collective(wait)) return is_done(wait.source);
    return std::ranges::all_of(program_.collectives[collective_of(wait)].members,
                               [&](InstrIndex member) { return is_done(member); });
  }

  bool is_done(InstrIndex at) const { return at < part_.workers[device_of(program_, at)]->position(); }

  const RunPart& part_;
  const Program& program_;
};

}  // namespace

void run_serial(const RunPart& part) {
  const Program& program = part.program;
  Settling settling(part);
  for (const InstrIndex at : topological_order(program)) {
    const std::size_t device = device_of(program, at);
    DeviceWorker& worker = *part.workers[device];
    // Second halves of pairs, and what ran before this part, are behind the worker already.
    if (at != worker.position() || at >= part.limits[device]) continue;
    if (worker.must_settle()) settling.settle(worker);
    worker.step();
  }
  for (const auto& worker : part.workers) settling.settle(*worker);
}

}  // namespace plumb
