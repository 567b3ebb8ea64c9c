#include "trainer/executors/serial_executor.hpp"

#include "schedules/lowering/lower.hpp"
#include "schedules/runnability/deadlock.hpp"
#include "trainer/executors/forward_reruns.hpp"

namespace plumb {

void run_serial(const RunPart& part) {
  const Program& program = part.program;
  ForwardReruns reruns(part);
  for (const InstrIndex at : run_order(program)) {
    const std::size_t device = index(device_of(program, at));
    DeviceWorker& worker = *part.workers[device];
    // Second halves of pairs, and what ran before this part, the worker has passed already.
    if (at != worker.position() || at >= part.limits[device]) continue;
    if (worker.must_rerun()) reruns.rerun_forwards(worker);
    worker.step();
  }
  for (const auto& worker : part.workers) reruns.rerun_forwards(*worker);
}

}  // namespace plumb
