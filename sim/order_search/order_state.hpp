#pragma once

#include <cstdint>
#include <vector>

#include "sim/order_search/block_problem.hpp"

namespace plumb {

/// Blocks of all microbatches that have been placed, each as early as its devices and inputs allowed, in order within
/// each kind of block.
class OrderState {
 public:
  OrderState(const BlockProblem& problem, std::int64_t num_microbatches);

  std::int64_t count(std::int32_t block) const { return counts_[static_cast<std::size_t>(block)]; }
  std::int64_t left(std::int32_t block) const { return num_microbatches_ - count(block); }
  Ticks clock(std::int32_t device) const { return clocks_[static_cast<std::size_t>(device)]; }
  Ticks end(std::int32_t block, std::int64_t microbatch) const { return ends_[place(block, microbatch)]; }

  /// Whether the inputs of the next microbatch of `block`, and what is given to come before it, are placed; whether its
  /// devices may keep what it takes.
  bool has_inputs(std::int32_t block) const;
  bool has_memory(std::int32_t block) const;
  /// Of the next microbatch of `block`, whose inputs are placed.
  Ticks earliest(std::int32_t block) const;

  /// What `put` changed, so that `take_back` restores it.
  struct Undo {
    std::int32_t block = 0;
    std::vector<Ticks> clocks;  ///< of its devices
  };
  Undo put(std::int32_t block);
  void take_back(const Undo& undo);

 private:
  std::size_t place(std::int32_t block, std::int64_t microbatch) const {
    return static_cast<std::size_t>(block) * static_cast<std::size_t>(num_microbatches_) +
           static_cast<std::size_t>(microbatch);
  }

  const BlockProblem& problem_;
  std::int64_t num_microbatches_;
  std::vector<std::int64_t> counts_;
  std::vector<Ticks> clocks_;
  std::vector<std::int64_t> stashes_;
  std::vector<Ticks> ends_;
};

}  // namespace plumb
