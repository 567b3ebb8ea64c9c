#pragma once

#include <cstdint>

#include "models/cluster/cluster.hpp"
#include "models/costs/stage_costs.hpp"

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
  /// Updates need the norm of the gradients of all stages. A document with V already has it; otherwise V is put after
  /// the updates of every device, and waits for those of all devices.
  bool global_norm = false;
  /// Devices exchange messages also where all edges between them have one time (`StageCosts::comm`), which is then the
  /// latency of every message. Otherwise such edges are latencies that no transfer mode changes.
  bool messages = false;
};

/// Whether devices exchange messages: over the links of `cluster`, or with `costs.comm` as latency where `options` ask
/// for messages.
inline bool makes_transfers(const StageCosts& costs, const Cluster* cluster, const LowerOptions& options) {
  return costs.comm ? options.messages : cluster != nullptr;
}

}  // namespace plumb
