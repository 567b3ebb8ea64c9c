#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "schedules/document/schedule.hpp"

namespace plumb {

/// Ops of one (stage, microbatch, slice), as bits.
using OpSet = std::uint16_t;

/// The bit of an op that names a microbatch; 0 for the others (U V X and collectives).
constexpr OpSet op_bit(Op op) {
  if (op <= Op::kR) return static_cast<OpSet>(1U << static_cast<unsigned>(op));
  if (op >= Op::kSendF && op <= Op::kRecvR) {
    return static_cast<OpSet>(1U << (5U + static_cast<unsigned>(op) - static_cast<unsigned>(Op::kSendF)));
  }
  if (op == Op::kEvict) return OpSet{1U << 11U};
  return op == Op::kLoad ? OpSet{1U << 12U} : OpSet{0};
}

inline constexpr OpSet kAnyBackward = op_bit(Op::kB) | op_bit(Op::kI);

/// A set of ops for every (stage, microbatch, slice) of a schedule, dense: two bytes each.
class ActionTable {
 public:
  explicit ActionTable(const Schedule& schedule) : microbatches_(static_cast<std::size_t>(schedule.num_microbatches)) {
    if (schedule.slices) {
      for (const auto& lengths : schedule.slices->lengths) counts_.push_back(lengths.size());
      slices_ = *std::max_element(counts_.begin(), counts_.end());
    }
    sets_.resize(static_cast<std::size_t>(schedule.num_stages) * microbatches_ * slices_);
  }

  /// Slices of the microbatch: 1 when the document has none.
  std::size_t slices(std::size_t microbatch) const { return counts_.size() <= 1 ? slices_ : counts_[microbatch]; }

  /// Ops in all slices that `action` names, of its first microbatch.
  OpSet all(const Action& action) const {
    OpSet common = 0xFFFF;
    visit(action, [&](std::size_t at) { common = static_cast<OpSet>(common & sets_[at]); });
    return common;
  }

  /// Ops in at least one of them.
  OpSet some(const Action& action) const {
    OpSet any = 0;
    visit(action, [&](std::size_t at) { any = static_cast<OpSet>(any | sets_[at]); });
    return any;
  }

  OpSet at(StageId stage, std::size_t microbatch, std::size_t slice) const {
    return sets_[(index(stage) * microbatches_ + microbatch) * slices_ + slice];
  }

  /// Adds the ops to the slices that `action` names, of its first microbatch.
  void add(const Action& action, OpSet ops) {
    visit(action, [&](std::size_t at) { sets_[at] = static_cast<OpSet>(sets_[at] | ops); });
  }

 private:
  template <class Visit>
  void visit(const Action& action, Visit visit_set) const {
    const std::size_t first = (index(action.stage) * microbatches_ + index(action.microbatch)) * slices_;
    assert(first + slices_ <= sets_.size());
    if (action.slice != Action::kAllSlices) {
      visit_set(first + static_cast<std::size_t>(action.slice));
      return;
    }
    const std::size_t count = slices(index(action.microbatch));
    for (std::size_t slice = 0; slice < count; ++slice) visit_set(first + slice);
  }

  std::size_t microbatches_;
  std::size_t slices_ = 1;           ///< most slices of a microbatch
  std::vector<std::size_t> counts_;  ///< slices by microbatch, or one for all; empty: no slices
  std::vector<OpSet> sets_;
};

}  // namespace plumb
