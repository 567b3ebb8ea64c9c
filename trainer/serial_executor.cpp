#include "trainer/serial_executor.hpp"

#include "schedules/lower.hpp"

namespace plumb {

void run_serial(const RunPart& part) {
  const Program& program = part.program;
  for (const InstrIndex at : topological_order(program)) {
    const std::size_t device = index(program.holders[program.rows[program.instrs[at].row].holder].device);
    DeviceWorker& worker = *part.workers[device];
    // Second halves of pairs, and what ran before this part, are behind the worker already.
    if (at == worker.position() && at < part.limits[device]) worker.step();
  }
}

}  // namespace plumb
