#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/network/layer_shape.hpp"
#include "models/stages/stage_layout.hpp"
#include "trainer/layers/layer.hpp"
#include "trainer/memory/stage_stash.hpp"

namespace plumb {

/// The arguments of one layer, with the pointer lists that they refer to. `P`: `LayerPass` or what is like it on other
/// hardware; T: numbers of weights and values; G: of gradients.
template <class P, class T, class G>
struct StepPass {
  /// More than any layer has parameters or stash tensors.
  static constexpr std::size_t kMostTensors = 8;

  std::array<const T*, kMostTensors> weights{};
  std::array<G*, kMostTensors> gradients{};
  std::array<std::byte*, kMostTensors> stash{};
  std::vector<EarlierKeys<T>> earlier;
  P pass;

  /// `pass` with spans into this object.
  P bound() const {
    P result = pass;
    result.weights = weights;
    result.gradients = gradients;
    result.stash = stash;
    result.earlier = earlier;
    return result;
  }
};

/// Returns where each parameter begins in the flat blocks of a stage, in numbers; after them the size of all.
inline std::vector<std::int64_t> parameter_offsets(const StageLayout& layout) {
  std::vector<std::int64_t> offsets{0};
  for (const ParameterFacts& parameter : layout.parameters) offsets.push_back(offsets.back() + parameter.count());
  return offsets;
}

/// Finds where each parameter begins in the block of what is frozen.
inline std::vector<std::int64_t> frozen_offsets(const StageLayout& layout) {
  std::vector<std::int64_t> offsets{0};
  for (const ParameterFacts& parameter : layout.frozen) offsets.push_back(offsets.back() + parameter.count());
  return offsets;
}

/// Returns whether W of a layer has anything to add to.
inline bool has_weight_grad(const LayoutStep& step) {
  return !std::ranges::all_of(step.parameters, [](const ParameterPlace& place) { return place.frozen; });
}

/// The frozen parameters of a stage as a flat block; null in passes that read no weights.
template <class T>
struct FrozenSource {
  const T* weights = nullptr;
  const std::vector<std::int64_t>* offsets = nullptr;  ///< `frozen_offsets`
};

/// What a pass of a stage works on; `weights` and `gradients` are flat blocks, or null.
template <class T, class G>
struct StepSource {
  const StageLayout& layout;
  const std::vector<std::int64_t>& offsets;  ///< `parameter_offsets`
  TensorPlace TensorPlaces::*place;          ///< places of the pass
  const T* weights = nullptr;
  G* gradients = nullptr;
  const StageBlocks& blocks;
  FrozenSource<T> frozen = {};
};

/// Returns the keys and values of layer `k` in earlier slices: kept apart, or in the first tensor that attention keeps.
template <class T>
std::vector<EarlierKeys<T>> earlier_keys(std::size_t k, const StageBlocks& blocks) {
  std::vector<EarlierKeys<T>> earlier;
  for (std::size_t i = 0; i < blocks.earlier_count; ++i) {
    const EarlierSlice& slice = blocks.earlier[i];
    const LayoutStep& step = slice.layout->steps[k];
    const std::int64_t all = qkv_width(step.spec);
    const T* keys = reinterpret_cast<const T*>(slice.blocks.at(step.keys));
    const std::int64_t stride = keys != nullptr ? all - step.spec.width : all;
    if (keys == nullptr) keys = reinterpret_cast<const T*>(slice.blocks.at(step.stash.front().f)) + step.spec.width;
    earlier.push_back(
        {keys, stride, reinterpret_cast<T*>(slice.blocks.at(step.key_grads)), slice.layout->shape.sequence});
  }
  return earlier;
}

/// Returns the arguments of layer `k` as far as the layout knows them.
template <class P, class T, class G>
StepPass<P, T, G> step_pass(const StepSource<T, G>& of, std::size_t k) {
  const LayoutStep& step = of.layout.steps[k];
  const auto value = [&](const TensorPlaces& places) { return reinterpret_cast<T*>(of.blocks.at(places.*of.place)); };
  StepPass<P, T, G> result;
  assert(step.parameters.size() <= result.kMostTensors && step.stash.size() <= result.kMostTensors);
  for (std::size_t i = 0; i < step.parameters.size(); ++i) {
    const ParameterPlace& place = step.parameters[i];
    if (place.frozen) {
      if (of.frozen.weights != nullptr) result.weights[i] = of.frozen.weights + (*of.frozen.offsets)[place.index];
      continue;
    }
    const std::int64_t offset = of.offsets[place.index];
    if (of.weights != nullptr) result.weights[i] = of.weights + offset;
    if (of.gradients != nullptr) result.gradients[i] = of.gradients + offset;
  }
  for (std::size_t i = 0; i < step.stash.size(); ++i) result.stash[i] = of.blocks.at(step.stash[i].*of.place);
  P& pass = result.pass;
  if (step.input != kNoValue) pass.input = value(of.layout.values[step.input]);
  if (step.from != kNoValue) pass.from = value(of.layout.values[step.from]);
  pass.output = value(of.layout.values[step.output]);
  pass.output_grad = value(of.layout.gradients[step.output]);
  pass.input_grad = value(step.input_grad);
  pass.from_grad = value(step.from_grad);
  pass.workspace = of.blocks.at(step.workspace.*of.place);
  pass.keys = reinterpret_cast<T*>(of.blocks.at(step.keys));
  pass.key_grads = reinterpret_cast<const T*>(of.blocks.at(step.key_grads));
  if (step.spec.kind == LayerKind::kAttention) result.earlier = earlier_keys<T>(k, of.blocks);
  return result;
}

}  // namespace plumb
