#include "trainer/cuda/layers/cuda_stage_module.hpp"

#include <algorithm>
#include <array>
#include <cassert>

#include "models/layer_shape.hpp"
#include "trainer/cuda/kernels/blocks.hpp"

namespace plumb::kernels {

namespace {

/// More than any layer has parameters or stash tensors.
constexpr std::size_t kMaxTensors = 8;

}  // namespace

/// The arguments of one layer, with the pointer lists that they refer to.
template <class T>
struct CudaStageModule<T>::StepPass {
  std::array<const T*, kMaxTensors> weights{};
  std::array<float*, kMaxTensors> gradients{};
  std::array<std::byte*, kMaxTensors> stash{};
  std::vector<EarlierSlice<T>> earlier;
  CudaPass<T> pass;

  /// `pass` with spans into this object.
  CudaPass<T> bound() const {
    CudaPass<T> result = pass;
    result.weights = weights;
    result.gradients = gradients;
    result.stash = stash;
    result.earlier = earlier;
    return result;
  }
};

/// The moves of a pass, taken in their order.
template <class T>
struct CudaStageModule<T>::Moves {
  const std::vector<ValueMove>& all;
  PassPlace place;
  const Pass& pass;
  std::size_t next = 0;

  T* to(const ValueMove& move) const { return reinterpret_cast<T*>(pass.blocks.at(move.to.*place)); }
  const T* from(const ValueMove& move) const { return reinterpret_cast<const T*>(pass.blocks.at(move.from.*place)); }
  bool waits(std::size_t at) const { return next < all.size() && all[next].at == at; }

  void make(const ValueMove& move) const {
    if (to(move) == nullptr || from(move) == nullptr) return;
    if (move.adds) {
      add(to(move), from(move), move.bytes / static_cast<std::int64_t>(sizeof(T)), pass.device.stream);
    } else {
      copy_bytes(to(move), from(move), move.bytes, pass.device.stream);
    }
  }

  /// All at `at`.
  void make_all(std::size_t at) {
    for (; waits(at); ++next) make(all[next]);
  }

  /// All at `at`; but if the last one adds to `value`, what it adds is returned for somebody else to add.
  const T* make_all_but_sum(std::size_t at, const T* value) {
    while (waits(at)) {
      const ValueMove& move = all[next++];
      if (!waits(at) && move.adds && value != nullptr && to(move) == value) return from(move);
      make(move);
    }
    return nullptr;
  }

  /// What the next one adds to `value`, if it is at `at` and does so; it counts as made.
  const T* take_sum(std::size_t at, const T* value) {
    if (!waits(at) || !all[next].adds || value == nullptr || to(all[next]) != value) return nullptr;
    return from(all[next++]);
  }
};

template <class T>
CudaStageModule<T>::CudaStageModule(const StageLayout& layout, const MicrobatchShape& shape)
    : layout_(&layout), tokens_(static_cast<double>(shape.tokens())) {
  for (const LayoutStep& step : layout.steps) {
    assert(step.parameters.size() <= kMaxTensors && step.stash.size() <= kMaxTensors);
    layers_.push_back(make_cuda_layer<T>(step.spec, shape));
  }
  std::int64_t offset = 0;
  for (const ParameterFacts& parameter : layout.parameters) {
    parameter_offsets_.push_back(offset);
    offset += parameter.count();
  }
}

template <class T>
std::int64_t CudaStageModule<T>::scratch_bytes() const {
  std::int64_t most = 0;
  for (const auto& layer : layers_) most = std::max(most, layer->scratch_bytes());
  return most;
}

template <class T>
typename CudaStageModule<T>::StepPass CudaStageModule<T>::step_pass(std::size_t k, PassPlace place,
                                                                    const Pass& of) const {
  const LayoutStep& step = layout_->steps[k];
  const auto value = [&](const TensorPlaces& places) { return reinterpret_cast<T*>(of.blocks.at(places.*place)); };
  StepPass result;
  for (std::size_t i = 0; i < step.parameters.size(); ++i) {
    const std::int64_t offset = parameter_offsets_[step.parameters[i]];
    if (of.weights != nullptr) result.weights[i] = of.weights + offset;
    if (of.gradients != nullptr) result.gradients[i] = of.gradients + offset;
  }
  for (std::size_t i = 0; i < step.stash.size(); ++i) result.stash[i] = of.blocks.at(step.stash[i].*place);
  CudaPass<T>& pass = result.pass;
  pass.device = of.device;
  if (step.input != kNoValue) pass.input = value(layout_->values[step.input]);
  if (step.from != kNoValue) pass.from = value(layout_->values[step.from]);
  pass.output = value(layout_->values[step.output]);
  pass.output_grad = value(layout_->gradients[step.output]);
  pass.input_grad = value(step.input_grad);
  pass.from_grad = value(step.from_grad);
  pass.workspace = of.blocks.at(step.workspace.*place);
  pass.key_grads = reinterpret_cast<const T*>(of.blocks.at(step.key_grads));
  pass.keys = reinterpret_cast<T*>(of.blocks.at(step.keys));
  pass.ids = of.ids;
  pass.loss = of.loss;
  pass.correct = of.correct;
  pass.loss_tokens = of.ids.loss_tokens > 0 ? of.ids.loss_tokens : tokens_;
  if (step.spec.kind != LayerKind::kAttention) return result;
  for (std::size_t i = 0; i < of.blocks.earlier_count; ++i) {
    const plumb::EarlierSlice& slice = of.blocks.earlier[i];
    const LayoutStep& own = slice.layout->steps[k];
    const std::int64_t all = qkv_width(own.spec);
    const T* keys = reinterpret_cast<const T*>(slice.blocks.at(own.keys));
    const std::int64_t stride = keys != nullptr ? all - own.spec.width : all;
    if (keys == nullptr) keys = reinterpret_cast<const T*>(slice.blocks.at(own.stash.front().f)) + own.spec.width;
    result.earlier.push_back(
        {keys, stride, reinterpret_cast<T*>(slice.blocks.at(own.key_grads)), slice.layout->shape.sequence});
  }
  return result;
}

template <class T>
void CudaStageModule<T>::forward(const Pass& of) const {
  constexpr PassPlace kPlace = &TensorPlaces::f;
  Moves moves{layout_->forward_moves, kPlace, of};
  for (std::size_t k = 0; k < layers_.size(); ++k) {
    const StepPass step = step_pass(k, kPlace, of);
    CudaPass<T> pass = step.bound();
    if (layers_[k]->adds()) {
      pass.added = moves.make_all_but_sum(k, pass.input);
    } else {
      moves.make_all(k);
    }
    layers_[k]->forward(pass);
  }
  moves.make_all(layers_.size());
}

template <class T>
void CudaStageModule<T>::input_grad(const Pass& of) const {
  constexpr PassPlace kPlace = &TensorPlaces::i;
  Moves moves{layout_->backward_moves, kPlace, of};
  moves.make_all(layers_.size());
  for (std::size_t k = layers_.size(); k-- > 0;) {
    const StepPass step = step_pass(k, kPlace, of);
    CudaPass<T> pass = step.bound();
    if (layers_[k]->adds()) pass.added = moves.take_sum(k, pass.input_grad);
    layers_[k]->input_grad(pass);
    moves.make_all(k);
  }
}

template <class T>
void CudaStageModule<T>::weight_grad(const Pass& of) const {
  for (std::size_t k = layers_.size(); k-- > 0;) {
    const StepPass step = step_pass(k, &TensorPlaces::w, of);
    layers_[k]->weight_grad(step.bound());
  }
}

template <class T>
void CudaStageModule<T>::backward(const Pass& of) const {
  constexpr PassPlace kPlace = &TensorPlaces::b;
  Moves moves{layout_->backward_moves, kPlace, of};
  moves.make_all(layers_.size());
  for (std::size_t k = layers_.size(); k-- > 0;) {
    const StepPass step = step_pass(k, kPlace, of);
    CudaPass<T> pass = step.bound();
    if (layers_[k]->adds()) pass.added = moves.take_sum(k, pass.input_grad);
    layers_[k]->input_grad(pass);
    moves.make_all(k);
    layers_[k]->weight_grad(pass);
  }
}

template class CudaStageModule<float>;
template class CudaStageModule<BFloat16>;

}  // namespace plumb::kernels
