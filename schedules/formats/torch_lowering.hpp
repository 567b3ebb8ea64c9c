#pragma once

#include <cstdint>

#include "schedules/document/schedule.hpp"

namespace plumb {

struct TorchLowering {
  /// Adds UNSHARD, RESHARD and REDUCE_GRAD; without, sends and receives only.
  bool collectives = true;
  /// Stages whose parameters a device holds gathered, this many in order of their next use.
  std::int32_t active_stages = 3;
  /// A receive stands just before the compute that takes it; before a send to a higher-numbered device, all waiting
  /// receives from that device come first (PyTorch's `defer_pp_recv`, pytorch/pytorch#178815). Otherwise it stands
  /// where it was when the sender issued the message. PyTorch's rule does not keep the order of messages everywhere
  /// (pairs; two devices with several chunks): `validate` the result.
  bool late_receives = false;
};

/// The program that PyTorch's pipelining runtime makes of a compute-only schedule (torch.distributed.pipelining 2.14):
///
/// 1. Before each action the device releases the gathered stages that are not among the next `active_stages` ones it
///    computes, and gathers the missing ones; in the end it releases all.
/// 2. REDUCE_GRAD of a stage comes after its last backward (or W) of an update.
/// 3. The devices are visited in turn; each takes at most one action (or pair) whose inputs have been computed or
///    received on this device. If the result goes to another device, the send is appended there, and at the same moment
///    the receive to the other device's list. So sends and receives of two devices come in the same order.
///
/// Updates stay where they are. Lists come out without repeat blocks. A schedule with transfers or gathers is returned
/// as it is. Also takes what PyTorch cannot run: replicas, replicated stages, stage graphs. `schedule` must be valid.
/// Throws `Error` if a producer and its consumer do not agree on slices.
Schedule torch_lowered(const Schedule& schedule, const TorchLowering& options = {});

/// Whether the lists say themselves what lowering would add: transfers or gathers.
bool is_torch_lowered(const Schedule& schedule);

}  // namespace plumb
