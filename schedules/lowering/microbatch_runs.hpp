#pragma once

#include <cstdint>
#include <vector>

namespace plumb::lowering {

/// A sequence of microbatches in a form that does not depend on how it was written: as few numbers in equal steps as
/// possible, from the left. Two sequences are equal where their runs are.
class MicrobatchRuns {
 public:
  /// Adds `count` (at least 1) numbers, each `step` after the one before it.
  void add(std::int64_t first, std::int64_t step, std::int64_t count);

  /// Whether all numbers are at least 0 and below `end`.
  bool within(std::int64_t end) const;
  /// How many numbers there are.
  std::int64_t size() const;
  /// In how many pieces they are held.
  std::size_t pieces() const { return runs_.size(); }

  friend bool operator==(const MicrobatchRuns&, const MicrobatchRuns&) = default;

 private:
  struct Run {
    std::int64_t first = 0;
    std::int64_t step = 0;
    std::int64_t count = 0;

    std::int64_t last() const { return first + step * (count - 1); }
    friend bool operator==(const Run&, const Run&) = default;
  };

  std::vector<Run> runs_;
};

}  // namespace plumb::lowering
