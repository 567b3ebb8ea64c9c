#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "schedules/catalogue/zero_bubble/v_order.hpp"

namespace plumb {

/// The six passes of a microbatch on one device, each at its slot modulo 6: the repeating part of a schedule in which
/// every pass takes one slot. A building block has one per device.
using VPattern = std::array<std::int32_t, kVPassCount>;

/// Position in a table of what is numbered from 0.
constexpr std::size_t as_index(std::int64_t i) { return static_cast<std::size_t>(i); }

/// The pattern with W in the first free slots at or after their I, that of I1 first.
VPattern with_weights(VPattern pattern);

/// Slots of the first microbatch: every pass at the first slot of its phase after the pass that it takes its value
/// from (W: after their I).
std::vector<VPattern> first_slots(const std::vector<VPattern>& block);

/// Makes whole schedules from building blocks: repeats the block, takes out idle slots, then reorders warm-up and drain
/// without more memory.
/// (Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362, section 3 and appendix, and its
/// released adaptive scheduler)
class BlockUnroller {
 public:
  BlockUnroller(std::int32_t num_devices, std::int64_t num_microbatches);

  enum class Outcome : std::uint8_t { kMade, kInvalid, kTooMuchMemory };

  /// Makes `words()` from `block` with at most `limit` stashes on a device (never more than 2p).
  Outcome unroll(const std::vector<VPattern>& block, std::int64_t limit);

  const std::vector<VWord>& words() const { return words_; }

 private:
  /// A device's passes at their slots; an empty slot holds kEmpty.
  using Row = std::vector<std::int8_t>;

  void repeat(const std::vector<VPattern>& block);
  bool fill_warm_up(std::int64_t peak);
  void drop_surplus();
  void put_off_weights(std::int64_t peak);
  bool rebuild_drain();
  void lift_drain(Row& row, std::int32_t d, std::int64_t peak, std::array<std::int64_t, 2>& lifted) const;
  void refill_weights(Row& row) const;
  void fill_idle_slots();
  void relabel_weights();
  bool complete();

  std::vector<Row> rows();
  void take_rows(const std::vector<Row>& rows);

  std::int32_t p_;
  std::int64_t m_;
  std::int64_t repeats_;  ///< microbatches while the block is repeated: at least 2p
  PassCosts unit_costs_;
  WordTimer timer_;
  std::vector<VWord> words_;
};

/// Largest number of stashes of any device: +1 for F, -1 for W.
std::int64_t peak_stashes(const std::vector<VWord>& words);

}  // namespace plumb
