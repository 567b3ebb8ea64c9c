#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "models/stages/stage_layout.hpp"
#include "trainer/memory/arena.hpp"

namespace plumb {

struct EarlierSlice;

/// The blocks that a pass may touch, by `StageBlock`; null where there is none.
struct StageBlocks {
  std::array<std::byte*, kStageBlockCount> data{};
  /// Slices before a sequence slice, in order.
  const EarlierSlice* earlier = nullptr;
  std::size_t earlier_count = 0;

  std::byte*& operator[](StageBlock block) { return data[static_cast<std::size_t>(block)]; }
  /// Address of a tensor; null for a tensor that has no place, or whose block is not alive.
  std::byte* at(const TensorPlace& place) const {
    std::byte* base = data[static_cast<std::size_t>(place.block)];
    return base == nullptr ? nullptr : base + place.offset;
  }
};

/// An earlier sequence slice of the same microbatch, whose keys and values a pass reads.
struct EarlierSlice {
  const StageLayout* layout = nullptr;
  StageBlocks blocks;
};

/// What happens to the stash of F: it is kept until the backward; it is dropped, and made again before the backward
/// from the input that was kept, or from an input that arrives again; or no backward follows.
enum class StashLife : std::uint8_t { kUntilBackward, kUntilEndOfForward, kInputComesAgain, kForwardOnly };

/// Blocks of a stash that can be alive between two actions.
inline constexpr std::array kKeptBlocks{
    StageBlock::kInput,           StageBlock::kKeptForInputGrad, StageBlock::kKeptForWeightGrad,
    StageBlock::kMadeByInputGrad, StageBlock::kKeyGrads,         StageBlock::kKeys};

/// The memory of one microbatch in one stage, by the rules of `schedules/program/program.hpp`, "Life of a buffer".
///
/// `begin_x` does what that table says under "start" and returns the blocks for the pass; `end_x` does what it says
/// under "end" and returns the value to send. Values travel as blocks of class transfer: a receive slot that the
/// executor allocated, or the block that the neighbour on the same device handed back. On the first stage the input is
/// an empty block, on the last one the output gradient. F comes first, then either B, or I and later W; the stash is
/// empty again after B or W. A stash that F dropped is allocated again by R, or else by the backward; the keys and
/// values of a sequence slice stay, as others read them.
class StageStash {
 public:
  /// Both must outlive the stash.
  StageStash(const StageLayout& layout, Arena& arena) : layout_(&layout), arena_(&arena) {}

  StageBlocks begin_forward(Block input, StashLife life = StashLife::kUntilBackward);
  [[nodiscard]] Block end_forward();  ///< the output

  /// R. `input`: where it comes again; with room for the output where that goes on.
  StageBlocks begin_recompute(Block input = {}, bool makes_output = false);
  Block end_recompute();  ///< the output, where there is one

  StageBlocks begin_input_grad(Block output_grad);
  [[nodiscard]] Block end_input_grad();  ///< the input gradient

  StageBlocks begin_weight_grad();
  void end_weight_grad();

  StageBlocks begin_backward(Block output_grad);
  [[nodiscard]] Block end_backward();  ///< the input gradient

  /// Sequence slices: makes the sums of the gradients of the keys and values, all 0, when the backward of the last
  /// slice of the microbatch begins. They are freed by the backward of this slice.
  void make_key_grads();

  /// Returns everything that is alive.
  StageBlocks blocks();
  const StageLayout& layout() const { return *layout_; }

  /// Returns, for checkpoints between two actions, the storage of a block, empty when it is not alive; `revive` brings
  /// a block of a new stash to life as F or I would have left it, for its bytes to be filled in.
  std::span<std::byte> storage(StageBlock which);
  std::span<std::byte> revive(StageBlock which);
  /// Frees a block whose bytes are kept elsewhere.
  void release(StageBlock which) { free(which); }
  bool dropped() const { return dropped_; }
  void set_dropped(bool dropped) { dropped_ = dropped; }

 private:
  BlockSize size_of(StageBlock which) const;
  Block allocate(MemoryClass cls, BlockSize size) const { return arena_->allocate(cls, size.bytes, size.storage); }
  Block& block(StageBlock which) { return blocks_[static_cast<std::size_t>(which)]; }
  void allocate_stash();
  void keep_input(Block input);
  Block take(StageBlock which);
  void free(StageBlock which) { take(which); }
  void start_backward(Block output_grad, std::int64_t workspace_bytes);

  const StageLayout* layout_;
  Arena* arena_;
  std::array<Block, kStageBlockCount> blocks_;
  bool dropped_ = false;           ///< the stash of F is to be made again
  bool drops_stash_ = false;       ///< whether the end of the F under way frees the stash
  bool lets_go_of_input_ = false;  ///< whether the end of the F under way frees the input
};

}  // namespace plumb
