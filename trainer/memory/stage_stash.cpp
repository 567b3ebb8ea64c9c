#include "trainer/memory/stage_stash.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace plumb {

Block StageStash::take(StageBlock which) { return std::exchange(block(which), Block()); }

StageBlocks StageStash::blocks() {
  StageBlocks alive;
  for (std::size_t i = 0; i < kStageBlockCount; ++i) alive.data[i] = blocks_[i].data();
  return alive;
}

void StageStash::allocate_stash() {
  block(StageBlock::kKeptForInputGrad) = allocate(MemoryClass::kKeptForInputGrad, layout_->kept_for_input_grad);
  block(StageBlock::kKeptForWeightGrad) = allocate(MemoryClass::kKeptForWeightGrad, layout_->kept_for_weight_grad);
  dropped_ = false;
}

/// Allocates what F makes, in the order that the simulator counts. Whether input and stash stay after it follows from
/// `life`: forward-only runs keep nothing; a stage that recomputes drops its stash, and its input where it comes again.
StageBlocks StageStash::begin_forward(Block input, StashLife life) {
  const StageMemory& memory = layout_->memory;
  assert(input.bytes() == memory.input_bytes);
  const bool drops = life == StashLife::kUntilEndOfForward || life == StashLife::kInputComesAgain;
  lets_go_of_input_ = life == StashLife::kForwardOnly || life == StashLife::kInputComesAgain ||
                      (!drops && memory.input_last_use == LastUse::kForward);
  drops_stash_ = drops || life == StashLife::kForwardOnly;
  if (lets_go_of_input_) {
    block(StageBlock::kInput) = std::move(input);  // it stays what it was when it came
  } else {
    keep_input(std::move(input));
  }
  allocate_stash();
  if (drops_stash_) block(StageBlock::kKeys) = allocate(MemoryClass::kKeptForInputGrad, layout_->key_grads);
  dropped_ = drops;
  block(StageBlock::kOutput) = arena_->allocate(MemoryClass::kTransfer, memory.output_bytes);
  block(StageBlock::kWorkspace) = arena_->allocate(MemoryClass::kWorkspace, memory.workspace_f_bytes);
  return blocks();
}

/// Counts the input in the class of the pass that reads it last.
void StageStash::keep_input(Block input) {
  const bool for_weight_grad = layout_->memory.input_last_use == LastUse::kWeightGrad;
  input.move_to(for_weight_grad ? MemoryClass::kKeptForWeightGrad : MemoryClass::kKeptForInputGrad);
  block(StageBlock::kInput) = std::move(input);
}

Block StageStash::end_forward() {
  free(StageBlock::kWorkspace);
  if (drops_stash_) {
    free(StageBlock::kKeptForInputGrad);
    free(StageBlock::kKeptForWeightGrad);
  }
  if (lets_go_of_input_) free(StageBlock::kInput);
  return take(StageBlock::kOutput);
}

StageBlocks StageStash::begin_recompute(Block input, bool makes_output) {
  if (input.bytes() > 0) keep_input(std::move(input));
  allocate_stash();
  if (makes_output) {
    block(StageBlock::kOutput) = arena_->allocate(MemoryClass::kTransfer, layout_->memory.output_bytes);
  }
  block(StageBlock::kWorkspace) = arena_->allocate(MemoryClass::kWorkspace, layout_->memory.workspace_f_bytes);
  return blocks();
}

Block StageStash::end_recompute() {
  free(StageBlock::kWorkspace);
  return take(StageBlock::kOutput);
}

/// Allocates what I and B have in common. A dropped stash is made again within the pass, which needs F's workspace.
void StageStash::start_backward(Block output_grad, std::int64_t workspace_bytes) {
  assert(output_grad.bytes() == layout_->memory.output_grad_bytes);
  if (dropped_) workspace_bytes = std::max(workspace_bytes, layout_->memory.workspace_f_bytes);
  if (dropped_) allocate_stash();
  block(StageBlock::kOutputGrad) = std::move(output_grad);
  block(StageBlock::kInputGrad) = arena_->allocate(MemoryClass::kTransfer, layout_->memory.input_grad_bytes);
  block(StageBlock::kWorkspace) = arena_->allocate(MemoryClass::kWorkspace, workspace_bytes);
}

StageBlocks StageStash::begin_input_grad(Block output_grad) {
  block(StageBlock::kMadeByInputGrad) = allocate(MemoryClass::kKeptForWeightGrad, layout_->made_by_input_grad);
  start_backward(std::move(output_grad), layout_->memory.workspace_i_bytes);
  return blocks();
}

/// Frees what only I reads; W still reads the rest.
Block StageStash::end_input_grad() {
  free(StageBlock::kWorkspace);
  free(StageBlock::kKeyGrads);
  free(StageBlock::kKeys);
  free(StageBlock::kKeptForInputGrad);
  if (layout_->memory.input_last_use != LastUse::kWeightGrad) free(StageBlock::kInput);
  free(StageBlock::kOutputGrad);
  return take(StageBlock::kInputGrad);
}

StageBlocks StageStash::begin_weight_grad() {
  block(StageBlock::kWorkspace) = arena_->allocate(MemoryClass::kWorkspace, layout_->memory.workspace_w_bytes);
  return blocks();
}

void StageStash::end_weight_grad() {
  free(StageBlock::kWorkspace);
  free(StageBlock::kKeptForWeightGrad);
  free(StageBlock::kMadeByInputGrad);
  free(StageBlock::kInput);
}

StageBlocks StageStash::begin_backward(Block output_grad) {
  start_backward(std::move(output_grad), layout_->memory.workspace_b_bytes);
  return blocks();
}

Block StageStash::end_backward() {
  free(StageBlock::kWorkspace);
  free(StageBlock::kKeyGrads);
  free(StageBlock::kKeys);
  free(StageBlock::kKeptForInputGrad);
  free(StageBlock::kKeptForWeightGrad);
  free(StageBlock::kInput);
  free(StageBlock::kOutputGrad);
  return take(StageBlock::kInputGrad);
}

void StageStash::make_key_grads() {
  block(StageBlock::kKeyGrads) = allocate(MemoryClass::kKeptForInputGrad, layout_->key_grads);
  arena_->memory().fill(storage(StageBlock::kKeyGrads), std::byte{0});
}

BlockSize StageStash::size_of(StageBlock which) const {
  switch (which) {
    case StageBlock::kInput:
      return {layout_->memory.input_bytes, layout_->memory.input_bytes};
    case StageBlock::kKeptForInputGrad:
      return layout_->kept_for_input_grad;
    case StageBlock::kKeptForWeightGrad:
      return layout_->kept_for_weight_grad;
    case StageBlock::kMadeByInputGrad:
      return layout_->made_by_input_grad;
    case StageBlock::kKeyGrads:
    case StageBlock::kKeys:
      return layout_->key_grads;
    default:
      return {};
  }
}

/// Returns the storage of a block that is alive, which may be larger than what is counted.
std::span<std::byte> StageStash::storage(StageBlock which) {
  const Block& alive = block(which);
  if (alive.bytes() == 0) return {};
  const BlockSize size = size_of(which);
  return {alive.data(), static_cast<std::size_t>(std::max(size.bytes, size.storage))};
}

/// Allocates a block again in the class that it was counted in, for what comes back from a move or a checkpoint.
std::span<std::byte> StageStash::revive(StageBlock which) {
  const bool for_weight_grad = which == StageBlock::kInput
                                   ? layout_->memory.input_last_use == LastUse::kWeightGrad
                                   : which == StageBlock::kKeptForWeightGrad || which == StageBlock::kMadeByInputGrad;
  block(which) =
      allocate(for_weight_grad ? MemoryClass::kKeptForWeightGrad : MemoryClass::kKeptForInputGrad, size_of(which));
  return storage(which);
}

}  // namespace plumb
