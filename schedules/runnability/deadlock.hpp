#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "models/ground/units.hpp"
#include "schedules/program/program.hpp"
#include "schedules/runnability/transfer_mode.hpp"

namespace plumb {

// Whether a program runs to its end. `validate`, lowering, the simulator and the trainer ask here and nowhere else.
//
// Every device takes its steps in order. A step waits for what the lane waits for (sim/rules/transfer_semantics.hpp
// says when in which mode): values of other devices, members of collectives, copies, messages of its own that are still
// in a send buffer. A step that can be taken now can be taken later as well, because nothing that is over is ever
// undone. So all orders of taking steps come to the same end, durations do not matter, and one run without times
// decides.

/// Why the lanes of a program come to a standstill.
struct Deadlock {
  DeviceId device{};        ///< one of those on the cycle
  Action action;            ///< of the step that it cannot take
  std::int64_t before = 0;  ///< equal actions (reductions) that it has taken before
  std::string cycle;        ///< everything on the cycle, with its device
};

/// A program that was to run does not.
class DeadlockError : public CannotRun {
 public:
  DeadlockError(const std::string& message, Deadlock deadlock) : CannotRun(message), deadlock_(std::move(deadlock)) {}

  const Deadlock& deadlock() const { return deadlock_; }

 private:
  Deadlock deadlock_;
};

/// A cycle of waits in this transfer mode; nothing when all lanes end. What each waits for is named with its device,
/// and the step that must be taken before:
///
///     0B0 on device 0 waits for 1B0 on device 1, which comes after 1F1; 1F1 on device 1 waits for 0F1 on device 0,
///     which comes after 0B0
///     0F1 on device 0 waits for the message of 0F0 from device 0 to device 1, whose receive is not posted before 1F1
///     on device 1; 1F1 on device 1 waits for ...
std::optional<Deadlock> find_deadlock(const Program& program, TransferMode mode);

/// The same as one line, "transfers blocking: deadlock: 0F1 on device 0 waits for ..." (without the mode where there
/// are no messages). Empty when all lanes end.
std::string describe_deadlock(const Program& program, TransferMode mode);

/// Throws `DeadlockError` with that line. Requires a deadlock.
[[noreturn]] void throw_deadlock(const Program& program, TransferMode mode);

/// All instrs in an order in which each comes after everything that it waits for, messages taken as they are issued.
/// Throws `DeadlockError` when there is none.
std::vector<InstrIndex> run_order(const Program& program);

}  // namespace plumb
