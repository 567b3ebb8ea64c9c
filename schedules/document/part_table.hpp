#pragma once

#include <cstdint>
#include <vector>

#include "models/costs/part.hpp"
#include "schedules/document/action.hpp"

namespace plumb {

struct Schedule;

/// The parts of a schedule's microbatches: what one action works on, piece by piece. A schedule without slices and
/// `microbatch_sizes` has one part, the whole microbatch.
class PartTable {
 public:
  PartTable() = default;
  explicit PartTable(const Schedule& schedule);

  /// All microbatches have the same size and are not cut.
  bool plain() const { return parts_.size() == 1; }
  bool causal() const { return causal_; }
  /// All distinct parts.
  const std::vector<Part>& all() const { return parts_; }
  /// Microbatches of one kind have the same size and slices.
  std::size_t kinds() const { return begin_.size() - 1; }
  std::size_t kind(std::size_t microbatch) const { return kind_of_.empty() ? 0 : kind_of_[microbatch]; }
  std::size_t slices(std::size_t microbatch) const { return begin_[kind(microbatch) + 1] - begin_[kind(microbatch)]; }
  std::size_t most_slices() const;
  /// Index into `all()`.
  std::size_t part(std::size_t microbatch, std::size_t slice) const { return begin_[kind(microbatch)] + slice; }

  /// Calls `visit(microbatch, slice, part)` for everything that `action` names, by microbatch, then slice.
  template <class Visit>
  void for_each(const Action& action, Visit&& visit) const {
    const std::size_t first = index(action.microbatch);
    for (std::size_t microbatch = first; microbatch <= first + action.merged; ++microbatch) {
      const bool all = action.slice == Action::kAllSlices;
      const std::size_t begin = all ? 0 : static_cast<std::size_t>(action.slice);
      const std::size_t end = all ? slices(microbatch) : begin + 1;
      for (std::size_t slice = begin; slice < end; ++slice) visit(microbatch, slice, part(microbatch, slice));
    }
  }

 private:
  std::vector<Part> parts_{Part{}};
  std::vector<std::uint32_t> begin_{0, 1};  ///< by kind: its first part; one more ends the last
  std::vector<std::uint32_t> kind_of_;      ///< by microbatch; empty: all are of kind 0
  bool causal_ = false;
};

/// Whether both actions name slice `slice` of `microbatch`.
constexpr bool names(const Action& action, std::size_t microbatch, std::size_t slice) {
  const std::size_t first = index(action.microbatch);
  return first <= microbatch && microbatch <= first + action.merged &&
         (action.slice == Action::kAllSlices || static_cast<std::size_t>(action.slice) == slice);
}

}  // namespace plumb
