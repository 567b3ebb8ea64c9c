#pragma once

#include "models/cluster/cluster.hpp"
#include "models/costs/stage_costs.hpp"
#include "schedules/document/schedule.hpp"
#include "schedules/program/program.hpp"

namespace plumb {

/// Where receives stand when the document does not say.
enum class ReceivePlacement : std::uint8_t {
  kAhead,   ///< one compute action before the consumer, earlier where the channel's order asks for it
  kLate,    ///< just before the consumer
  kOnSend,  ///< when the sender issues (PyTorch's lowering: rounds over the devices)
};

struct LowerOptions {
  ReceivePlacement receives = ReceivePlacement::kAhead;
  /// Messages of a channel whose send buffers may be alive at once before the sender waits for the oldest.
  std::int32_t send_buffers = 2;
  /// Updates need the norm of the gradients of all stages. A document with V brings it along; otherwise V is put behind
  /// the updates of every device, and waits for those of all devices.
  bool global_norm = false;
};

/// Adds to a valid schedule everything it implies: updates where the document has none, transfers, collectives,
/// buffer lifetimes, the weight version that every action reads.
///
/// Transfers are made when `costs.comm` has no value and `cluster` is given; otherwise edges between devices are
/// latencies. Explicit SEND/RECV actions of the document fix `issue` and `post`.
/// Throws `Error` for what the executors cannot honour, e.g. a delay policy whose version does not exist yet (names the
/// smallest legal delay), or tied weights across stages in an asynchronous schedule. `schedule` must be valid
/// (schedules/checks/validate.hpp).
Program lower(const Schedule& schedule, const StageCosts& costs, const Cluster* cluster = nullptr,
              const LowerOptions& options = {});

/// An order of all instrs in which everything an instr waits for comes first: devices in turn, each as far as it gets.
/// The serial executor runs it; a deadlock is a bug here, since `validate` reports it first.
std::vector<InstrIndex> topological_order(const Program& program);

}  // namespace plumb
