#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schedules/catalogue/pass_costs.hpp"

// The problem that the zero-bubble searches solve: every device runs the passes of its stages for m microbatches in an
// order of its own, as early as it can, within its memory; the longest device span is to be short. A pass of a stage is
// the same for all microbatches, so an order is a word over the kinds of passes of each device: microbatches come in
// order within each kind. (Any other order can be renamed into this one: the n-th F of a stage in time can always take
// the n-th F of the stage before it, which ended no later than the one that it took.)

namespace plumb {

/// Kinds of passes of a device by number, one per letter.
using OrderWord = std::vector<std::uint8_t>;

/// One stage per device (kinds F, I, W), or two in a V (F0, F1, I1, I0, W1, W0 as in `VPass`). The first two thirds of
/// the kinds form the chain: the way of a microbatch over a device. Even kinds travel from device 0 to the last one,
/// odd kinds back; W follows its I.
struct OrderProblem {
  static constexpr std::int32_t kMostKinds = 6;

  struct Pass {
    Ticks time = 0;
    std::int64_t stash = 0;  ///< what it adds to the stash of its device, from its start if more, from its end if less
    std::int32_t device = -1;  ///< of the pass of the same microbatch that it follows; -1: none
    std::int32_t kind = 0;     ///< of that pass
    Ticks delay = 0;           ///< between that one's end and its own start
  };

  std::int32_t num_devices = 0;
  std::int32_t num_microbatches = 0;
  std::int32_t kinds = 0;            ///< of passes of a device: 3 or 6
  std::vector<Pass> passes;          ///< by device, kind
  std::vector<std::int64_t> limits;  ///< of the stashes of every device

  std::int32_t chain_kinds() const { return kinds / 3 * 2; }
  bool is_forward(std::int32_t kind) const { return kind < kinds / 3; }
  bool is_weight(std::int32_t kind) const { return kind >= chain_kinds(); }
  /// The W of an I.
  std::int32_t weight_of(std::int32_t kind) const { return kind + kinds / 3; }
  /// The F of an I.
  std::int32_t forward_of(std::int32_t kind) const { return chain_kinds() - 1 - kind; }
  const Pass& pass(std::int32_t device, std::int32_t kind) const {
    return passes[static_cast<std::size_t>(device * kinds + kind)];
  }
  std::int64_t limit(std::int32_t device) const { return limits[static_cast<std::size_t>(device)]; }
  /// Of all passes of a device for one microbatch.
  Ticks work(std::int32_t device) const;
  /// Passes of all devices and microbatches.
  std::int64_t size() const { return std::int64_t{num_devices} * kinds * num_microbatches; }
};

/// One stage per device.
OrderProblem straight_problem(const PassCosts& costs, std::span<const std::int64_t> limits,
                              std::int32_t num_microbatches);

/// Stages d and 2p - 1 - d on device d, `costs.limit` for each of them.
OrderProblem v_problem(const PassCosts& costs, std::int32_t num_microbatches);

}  // namespace plumb
