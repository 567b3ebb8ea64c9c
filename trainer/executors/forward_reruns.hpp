#pragma once

#include "trainer/executors/run_part.hpp"

namespace plumb {

/// Returns the device of an instr.
inline DeviceId device_of(const Program& program, InstrIndex at) {
  return program.holders[program.rows[program.instrs[at].row].holder].device;
}

/// Makes the workers of one thread run those forwards again whose weights a validation (V) took back. The validations
/// of other devices, and the forwards that messages come from, are run first.
class ForwardReruns {
 public:
  explicit ForwardReruns(const RunPart& part) : part_(part), program_(part.program) {}

  void rerun_forwards(DeviceWorker& worker);
  /// Returns whether everything that the worker's next instrs wait for has been run or issued by the other workers.
  bool is_ready(const DeviceWorker& worker) const;

 private:
  void validate_everywhere(std::int32_t update);
  void rerun_in_order(DeviceWorker& worker);
  bool is_done(InstrIndex at) const;

  const RunPart& part_;
  const Program& program_;
};

}  // namespace plumb
