#include "trainer/cuda/layers/cuda_stage_module.hpp"

#include <algorithm>

#include "trainer/cuda/kernels/blocks.hpp"
#include "trainer/cuda/layers/make_cuda_layer.hpp"

namespace plumb::kernels {

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

  /// All at `at`; but if the last one adds to `value`, what it adds is returned for the caller to add.
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
    : layout_(&layout),
      tokens_(static_cast<double>(shape.tokens())),
      parameter_offsets_(parameter_offsets(layout)),
      frozen_offsets_(frozen_offsets(layout)) {
  for (const LayoutStep& step : layout.steps) layers_.push_back(make_cuda_layer<T>(step.spec, shape));
}

template <class T>
std::int64_t CudaStageModule<T>::scratch_bytes() const {
  std::int64_t most = 0;
  for (const auto& layer : layers_) most = std::max(most, layer->scratch_bytes());
  return most;
}

template <class T>
typename CudaStageModule<T>::Step CudaStageModule<T>::step_pass(std::size_t k, PassPlace place, const Pass& of) const {
  Step result = plumb::step_pass<CudaPass<T>, T, float>(
      {*layout_, parameter_offsets_, place, of.weights, of.gradients, of.blocks, {of.frozen, &frozen_offsets_}}, k);
  CudaPass<T>& pass = result.pass;
  pass.device = of.device;
  pass.ids = of.ids;
  pass.loss = of.loss;
  pass.correct = of.correct;
  pass.loss_tokens = of.ids.loss_tokens > 0 ? of.ids.loss_tokens : tokens_;
  return result;
}

template <class T>
void CudaStageModule<T>::forward(const Pass& of) const {
  constexpr PassPlace kPlace = &TensorPlaces::f;
  Moves moves{layout_->forward_moves, kPlace, of};
  for (std::size_t k = 0; k < layers_.size(); ++k) {
    const Step step = step_pass(k, kPlace, of);
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
void CudaStageModule<T>::go_back(const Pass& of, PassPlace place, bool with_weights) const {
  Moves moves{layout_->backward_moves, place, of};
  moves.make_all(layers_.size());
  for (std::size_t k = layers_.size(); k-- > 0;) {
    const Step step = step_pass(k, place, of);
    CudaPass<T> pass = step.bound();
    if (layers_[k]->adds()) pass.added = moves.take_sum(k, pass.input_grad);
    layers_[k]->input_grad(pass);
    moves.make_all(k);
    if (with_weights && has_weight_grad(layout_->steps[k])) layers_[k]->weight_grad(pass);
  }
}

template <class T>
void CudaStageModule<T>::input_grad(const Pass& of) const {
  go_back(of, &TensorPlaces::i, false);
}

template <class T>
void CudaStageModule<T>::weight_grad(const Pass& of) const {
  for (std::size_t k = layers_.size(); k-- > 0;) {
    if (!has_weight_grad(layout_->steps[k])) continue;
    const Step step = step_pass(k, &TensorPlaces::w, of);
    layers_[k]->weight_grad(step.bound());
  }
}

template <class T>
void CudaStageModule<T>::backward(const Pass& of) const {
  go_back(of, &TensorPlaces::b, true);
}

template class CudaStageModule<float>;
template class CudaStageModule<BFloat16>;

}  // namespace plumb::kernels
