#include "trainer/executors/serial_executor.hpp"

#include "schedules/program/topological_order.hpp"
#include "trainer/executors/settling.hpp"

namespace plumb {

void run_serial(const RunPart& part) {
  const Program& program = part.program;
  Settling settling(part);
  for (const InstrIndex at : topological_order(program)) {
    const std::size_t device = index(device_of(program, at));
    DeviceWorker& worker = *part.workers[device];
    // Second halves of pairs, and what ran before this part, are behind the worker already.
    if (at != worker.position() || at >= part.limits[device]) continue;
    if (worker.must_settle()) settling.settle(worker);
    worker.step();
  }
  for (const auto& worker : part.workers) settling.settle(*worker);
}

}  // namespace plumb
