#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/stages/stage_layout.hpp"
#include "trainer/layers/layer.hpp"
#include "trainer/memory/stage_stash.hpp"
#include "trainer/stages/step_pass.hpp"

namespace plumb {

/// The weights that a pass of a stage reads, as flat blocks: those of the layout's `parameters`, of one version, and
/// those that are frozen.
template <class T>
struct StageWeights {
  const T* trained = nullptr;
  const T* frozen = nullptr;

  StageWeights(const T* of_trained, const T* of_frozen = nullptr) : trained(of_trained), frozen(of_frozen) {}
};

/// The arithmetic of one stage for one microbatch: its layers, laid out by `StageLayout`.
///
/// ### Protocol for an executor
/// Per holder of the stage, for the whole run, in its device's arena:
///
///     StageLayout layout = stage_layout(network.layers, range, shape, precision_of<T>(optimizer));
///     StageModule<T> module(layout, shape);
///     Block weights = arena.allocate(MemoryClass::kWeights, layout.memory.updated_bytes());
///     Block gradients = arena.allocate(MemoryClass::kGradients, layout.memory.gradient_bytes);
///     Block state = arena.allocate(MemoryClass::kOptimizer, layout.memory.optimizer_bytes);
///     fill_parameters<T>(layout.parameters, seed, weights);  // gradients (also after each U) and state: zeros
///
/// Per microbatch one `StageStash`. Each action is begin, compute, end (`b` are the blocks that begin returns, `w` the
/// weights that the action reads, `g` the gradients):
///
/// | action | begin | compute | end |
/// |---|---|---|---|
/// | F | stash.begin_forward(input) | forward(w, b, ids, &loss) | output = stash.end_forward() |
/// | I | stash.begin_input_grad(output_grad) | input_grad(w, g, b) | input_grad = stash.end_input_grad() |
/// | W | stash.begin_weight_grad() | weight_grad(g, b) | stash.end_weight_grad() |
/// | B | stash.begin_backward(output_grad) | backward(w, g, b) | input_grad = stash.end_backward() |
/// | R | stash.begin_recompute() | recompute(w, b, ids) | stash.end_recompute() |
/// | U | | update(), trainer/numbers/optimizer.hpp, gradient_scale = 1 / microbatches | |
///
/// Recompute: F begins with `StashLife::kUntilEndOfForward`; then either an R, or recompute() on the blocks of the
/// backward just before input_grad() or backward(), where the row says so.
///
/// `w` is one of the versions: the current block, or a copy in another block (class kWeightVersions). F and the
/// backward may read different ones; W reads none. I writes parameter gradients too (those of norms), so I and W of one
/// holder must not run at the same time. A transfer copies the bytes of a block; its receive slot is
/// `arena.allocate(MemoryClass::kTransfer, input_bytes or output_grad_bytes of the memory)`. A neighbour on the same
/// device gets the block itself. The loss is the mean over `loss_tokens`, and so are the gradients; sums over
/// microbatches are scaled by U.
template <class T>
class StageModule {
 public:
  /// Keeps `layout` by reference. Throws Error when a layer cannot be trained.
  StageModule(const StageLayout& layout, const MicrobatchShape& shape);

  /// F. `loss` is written on the last stage only.
  /// `correct`, where it is wanted, grows by the rows whose largest logit is the target.
  void forward(const StageWeights<T>& weights, const StageBlocks& blocks, const MicrobatchIds& ids, double* loss,
               std::int64_t* correct = nullptr) const;
  /// The stash of F once more, but not the stage's output. Reads `ids` as F does.
  void recompute(const StageWeights<T>& weights, const StageBlocks& blocks, const MicrobatchIds& ids) const;
  /// I. Adds to `gradients` where a layer's facts say so.
  void input_grad(const StageWeights<T>& weights, T* gradients, const StageBlocks& blocks) const;
  /// W. Adds to `gradients`; frozen layers without adapters do nothing.
  void weight_grad(T* gradients, const StageBlocks& blocks) const;
  /// B: I and W layer by layer, with the same bits as I and then W.
  void backward(const StageWeights<T>& weights, T* gradients, const StageBlocks& blocks) const;

 private:
  using PassPlace = TensorPlace TensorPlaces::*;
  using Step = StepPass<LayerPass<T>, T, T>;

  Step step_pass(std::size_t k, PassPlace place, const StageWeights<T>& weights, T* gradients,
                 const StageBlocks& blocks) const;
  /// Computes the inputs of a stage that reverses from its outputs.
  void reverse(const StageWeights<T>& weights, const StageBlocks& blocks, PassPlace place) const;
  /// Does the moves at `at`, from `next` on; returns the first one after them.
  static std::size_t move(const std::vector<ValueMove>& moves, std::size_t next, std::size_t at, PassPlace place,
                          const StageBlocks& blocks);

  const StageLayout* layout_;
  double tokens_;
  std::vector<std::int64_t> parameter_offsets_;
  std::vector<std::int64_t> frozen_offsets_;
  std::vector<std::unique_ptr<Layer<T>>> layers_;  ///< by step
};

}  // namespace plumb
