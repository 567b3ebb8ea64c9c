#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/stages/lay_out_stage.hpp"
#include "trainer/memory/arena.hpp"
#include "trainer/memory/stage_stash.hpp"
#include "trainer/numbers/initial_weights.hpp"
#include "trainer/numbers/optimizer.hpp"
#include "trainer/stages/stage_module.hpp"

namespace plumb {

/// One stage with its memory, on poisoned storage: whatever a pass reads without having been written is NaN.
template <class T>
struct TinyStage {
  StageLayout layout;
  StageModule<T> module;
  Arena arena{{.poison = true}};
  std::vector<T> weights;
  std::vector<T> frozen;
  std::vector<T> gradients;

  StageWeights<T> read() const { return {weights.data(), frozen.data()}; }

  TinyStage(std::span<const LayerSpec> chain, LayerRange range, const MicrobatchShape& shape)
      : layout(stage_layout(chain, range, shape, precision_of<T>({}))), module(layout, shape) {
    weights.resize(static_cast<std::size_t>(layout.memory.updated_bytes()) / sizeof(T));
    frozen.resize(static_cast<std::size_t>(layout.memory.frozen_bytes) / sizeof(T));
    gradients.assign(weights.size(), T(0));
    fill_parameters(std::span<const ParameterFacts>(layout.parameters), 7, weights.data());
    fill_parameters(std::span<const ParameterFacts>(layout.frozen), 7, frozen.data());
  }

  Block received(const std::vector<T>& values) {
    Block block = arena.allocate(MemoryClass::kTransfer, static_cast<std::int64_t>(values.size() * sizeof(T)));
    std::copy(values.begin(), values.end(), reinterpret_cast<T*>(block.data()));
    return block;
  }
};

template <class T>
std::vector<T> values_of(const Block& block) {
  const T* begin = reinterpret_cast<const T*>(block.data());
  return {begin, begin + static_cast<std::size_t>(block.bytes()) / sizeof(T)};
}

enum class BackwardMode { kFused, kSplit, kLateW };
enum class StashRemake { kNo, kFolded, kExplicit };

/// A network cut into stages, run without any schedule: F of all stages, then the backward of all, microbatch by
/// microbatch; with kLateW all W come at the very end.
template <class T>
class TinyPipeline {
 public:
  /// `cuts`: first layer of every stage but the first.
  TinyPipeline(const std::vector<LayerSpec>& chain, const std::vector<std::size_t>& cuts,
               const MicrobatchShape& shape) {
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= cuts.size(); ++i) {
      const std::size_t end = i < cuts.size() ? cuts[i] : chain.size();
      stages_.push_back(std::make_unique<TinyStage<T>>(chain, LayerRange{begin, end}, shape));
      begin = end;
    }
  }

  double forward(const MicrobatchIds& ids, StashLife life = StashLife::kUntilBackward) {
    double loss = 0;
    ids_ = ids;
    stashes_.emplace_back();
    std::vector<T> value;
    for (auto& stage : stages_) {
      StageStash stash(stage->layout, stage->arena);
      const StageBlocks blocks = stash.begin_forward(stage->received(value), life);
      stage->module.forward(stage->read(), blocks, ids, &loss);
      value = values_of<T>(stash.end_forward());
      stashes_.back().push_back(std::move(stash));
    }
    return loss;
  }

  /// Of the last microbatch that went forward.
  void backward(BackwardMode mode, StashRemake recompute = StashRemake::kNo) {
    std::vector<T> gradient;
    for (std::size_t s = stages_.size(); s-- > 0;) {
      TinyStage<T>& stage = *stages_[s];
      StageStash& stash = stashes_.back()[s];
      if (recompute == StashRemake::kExplicit) {
        stage.module.recompute(stage.read(), stash.begin_recompute(), ids_);
        stash.end_recompute();
      }
      if (mode == BackwardMode::kFused) {
        const StageBlocks blocks = stash.begin_backward(stage.received(gradient));
        if (recompute == StashRemake::kFolded) stage.module.recompute(stage.read(), blocks, ids_);
        stage.module.backward(stage.read(), stage.gradients.data(), blocks);
        gradient = values_of<T>(stash.end_backward());
      } else {
        const StageBlocks blocks = stash.begin_input_grad(stage.received(gradient));
        if (recompute == StashRemake::kFolded) stage.module.recompute(stage.read(), blocks, ids_);
        stage.module.input_grad(stage.read(), stage.gradients.data(), blocks);
        gradient = values_of<T>(stash.end_input_grad());
      }
      if (mode == BackwardMode::kSplit) weight_grad(stage, stash);
    }
    if (mode != BackwardMode::kLateW) stashes_.pop_back();
  }

  void late_weight_grads() {
    for (auto& microbatch : stashes_) {
      for (std::size_t s = 0; s < stages_.size(); ++s) weight_grad(*stages_[s], microbatch[s]);
    }
    stashes_.clear();
  }

  /// By parameter name; the two gradients of a weight tied over two stages are added.
  std::map<std::string, std::vector<T>> gradients() const {
    std::map<std::string, std::vector<T>> result;
    for (const auto& stage : stages_) {
      const T* at = stage->gradients.data();
      for (const ParameterFacts& parameter : stage->layout.parameters) {
        std::vector<T>& sum = result[parameter.name];
        sum.resize(static_cast<std::size_t>(parameter.count()));
        for (T& value : sum) value += *at++;
      }
    }
    return result;
  }

  std::vector<std::unique_ptr<TinyStage<T>>>& stages() { return stages_; }

 private:
  static void weight_grad(TinyStage<T>& stage, StageStash& stash) {
    const StageBlocks blocks = stash.begin_weight_grad();
    stage.module.weight_grad(stage.gradients.data(), blocks);
    stash.end_weight_grad();
  }

  MicrobatchIds ids_;
  std::vector<std::unique_ptr<TinyStage<T>>> stages_;
  std::vector<std::vector<StageStash>> stashes_;  ///< by microbatch, then stage
};

}  // namespace plumb
