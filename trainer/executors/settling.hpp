#pragma once

#include "trainer/executors/run_part.hpp"

namespace plumb {

/// The device of an instr.
inline DeviceId device_of(const Program& program, InstrIndex at) {
  return program.holders[program.rows[program.instrs[at].row].holder].device;
}

/// Lets the workers of one thread run forwards again that a validation found wrong; that may take validations of other
/// devices first.
class Settling {
 public:
  explicit Settling(const RunPart& part) : part_(part), program_(part.program) {}

  void settle(DeviceWorker& worker);
  /// All that the worker's next instrs wait for has been asked of the other workers.
  bool is_ready(const DeviceWorker& worker) const;

 private:
  void validate_everywhere(std::int32_t update);
  void settle_in_order(DeviceWorker& worker);
  bool is_over(const Wait& wait) const;
  bool is_done(InstrIndex at) const;

  const RunPart& part_;
  const Program& program_;
};

}  // namespace plumb
