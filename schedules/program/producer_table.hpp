#pragma once

#include <cassert>
#include <cstdint>
#include <vector>

#include "models/ground/huge_pages.hpp"
#include "schedules/document/action.hpp"
#include "schedules/program/program.hpp"

namespace plumb {

/// Position of every forward, backward (B or I) and recompute by (stage, microbatch, slice), in dense tables.
class ProducerTable {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;

  ProducerTable(std::int32_t num_stages, std::int64_t num_microbatches, std::int32_t num_slices)
      : stages_(static_cast<std::size_t>(num_stages)),
        microbatches_(static_cast<std::size_t>(num_microbatches)),
        slices_(static_cast<std::size_t>(num_slices)) {}

  /// Stores `value` for all microbatches and slices of `action`; ops other than F, B, I and R are ignored.
  void set(const Action& action, std::uint32_t value) {
    std::vector<std::uint32_t>* table = table_of(action.op);
    if (table == nullptr) return;
    if (table->empty()) create(*table);
    const std::size_t first = place(action);
    if (slices_ == 1 && action.merged == 0) {
      (*table)[first] = value;
      return;
    }
    const std::size_t count = slices_ * (action.merged + std::size_t{1});
    if (action.slice != Action::kAllSlices) {
      (*table)[first + static_cast<std::size_t>(action.slice)] = value;
      return;
    }
    for (std::size_t i = 0; i < count; ++i) (*table)[first + i] = value;
  }

  /// What `set` stored for the last slice of a microbatch; `op` is F, B or I.
  std::uint32_t find(Op op, StageId stage, std::size_t microbatch) const {
    const std::vector<std::uint32_t>& table = op == Op::kF ? forward_ : backward_;
    const std::size_t at = (index(stage) * microbatches_ + microbatch) * slices_ + slices_ - 1;
    return at < table.size() ? table[at] : kNone;
  }

  /// What `set` stored for the first microbatch of `action`; kNone when nothing. An action without a slice gives its
  /// last.
  std::uint32_t find(const Action& action) const {
    const std::vector<std::uint32_t>* table = table_of(action.op);
    if (table == nullptr || table->empty()) return kNone;
    const std::size_t slice = action.slice == Action::kAllSlices ? slices_ - 1 : static_cast<std::size_t>(action.slice);
    return (*table)[place(action) + slice];
  }

 private:
  void create(std::vector<std::uint32_t>& table) const {
    reserve_huge(table, stages_ * microbatches_ * slices_);
    table.assign(stages_ * microbatches_ * slices_, kNone);
  }

  std::size_t place(const Action& action) const {
    assert(index(action.stage) < stages_ && index(action.microbatch) + action.merged < microbatches_);
    return (index(action.stage) * microbatches_ + index(action.microbatch)) * slices_;
  }

  const std::vector<std::uint32_t>* table_of(Op op) const {
    if (op == Op::kF) return &forward_;
    if (is_backward(op)) return &backward_;
    return op == Op::kR ? &recompute_ : nullptr;
  }
  std::vector<std::uint32_t>* table_of(Op op) {
    return const_cast<std::vector<std::uint32_t>*>(static_cast<const ProducerTable*>(this)->table_of(op));
  }

  std::size_t stages_;
  std::size_t microbatches_;
  std::size_t slices_;
  std::vector<std::uint32_t> forward_;
  std::vector<std::uint32_t> backward_;
  std::vector<std::uint32_t> recompute_;
};

}  // namespace plumb
