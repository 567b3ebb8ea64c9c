#include "trainer/executors/streams_executor.hpp"

#include <algorithm>
#include <stdexcept>

#include "trainer/executors/forward_reruns.hpp"
#include "trainer/executors/stream_run.hpp"
#include "trainer/ground/run_aborted.hpp"

namespace plumb {
namespace {

class Rounds {
 public:
  explicit Rounds(const RunPart& part) : part_(part), reruns_(part) {}

  void run() {
    while (!is_over()) {
      bool changed = false;
      for (std::size_t device = 0; device < part_.workers.size(); ++device) changed |= go_on(device);
      if (!changed && !force_one()) throw std::logic_error("no device can go on");
    }
    for (const auto& worker : part_.workers) reruns_.rerun_forwards(*worker);
    for (const auto& worker : part_.workers) worker->end_lane();
  }

 private:
  bool is_over() const {
    for (std::size_t device = 0; device < part_.workers.size(); ++device) {
      if (!is_at_limit(device)) return false;
    }
    return true;
  }

  bool is_at_limit(std::size_t device) const { return part_.workers[device]->position() >= part_.limits[device]; }

  /// Posts the receives of the device's next action, and asks for it, where that may be.
  bool go_on(std::size_t device) {
    DeviceWorker& worker = *part_.workers[device];
    if (is_at_limit(device)) return false;
    bool changed = false;
    if (!worker.is_prepared() && has_room(worker)) {
      worker.prepare();
      changed = true;
    }
    if (!worker.is_prepared() || !reruns_.is_ready(worker)) return changed;
    if (worker.must_rerun()) reruns_.rerun_forwards(worker);
    worker.step();
    return true;
  }

  /// The receivers of the messages that are to be gone have posted them.
  bool has_room(const DeviceWorker& worker) const {
    const RunPlan& plan = worker.plan();
    for (InstrIndex at = worker.position(); at < plan.unit_end(worker.position()); ++at) {
      const auto sent = plan.indexed.sent().of(at);
      const bool all = std::ranges::all_of(sent, [&](std::uint32_t transfer) {
        return plan.program.is_move(transfer) || part_.streams->is_posted(transfer);
      });
      if (!all) return false;
    }
    return true;
  }

  /// Lets a sender put its message aside at a cut, where a receiver may never come to the post.
  bool force_one() {
    for (std::size_t device = 0; device < part_.workers.size(); ++device) {
      if (is_at_limit(device) || part_.workers[device]->is_prepared()) continue;
      part_.workers[device]->prepare();
      return true;
    }
    return false;
  }

  const RunPart& part_;
  ForwardReruns reruns_;
};

}  // namespace

void run_streams(const RunPart& part) {
  if (std::ranges::all_of(part.workers, [](const auto& worker) { return worker != nullptr; })) {
    return Rounds(part).run();
  }
  for (std::size_t device = 0; device < part.workers.size(); ++device) {  // the one of this process
    if (!part.workers[device]) continue;
    try {
      part.workers[device]->run_to(part.limits[device]);
      part.workers[device]->end_lane();
    } catch (const RunAborted&) {
      return;  // the cause is rethrown where the processes meet
    }
  }
}

}  // namespace plumb
