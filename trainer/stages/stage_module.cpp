#include "trainer/stages/stage_module.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "trainer/layers/make_layer.hpp"
#include "trainer/stages/step_pass.hpp"

namespace plumb {
template <class T>
StageModule<T>::StageModule(const StageLayout& layout, const MicrobatchShape& shape)
    : layout_(&layout),
      tokens_(static_cast<double>(shape.tokens())),
      parameter_offsets_(parameter_offsets(layout)),
      frozen_offsets_(frozen_offsets(layout)) {
  for (const LayoutStep& step : layout.steps) layers_.push_back(make_layer<T>(step.spec, shape));
  assert(layout.memory.updated_bytes() == parameter_offsets_.back() * static_cast<std::int64_t>(sizeof(T)) &&
         "the layout must be made with the precision of T");
}

template <class T>
typename StageModule<T>::Step StageModule<T>::step_pass(std::size_t k, PassPlace place, const StageWeights<T>& weights,
                                                        T* gradients, const StageBlocks& blocks) const {
  return plumb::step_pass<LayerPass<T>, T, T>(
      {*layout_, parameter_offsets_, place, weights.trained, gradients, blocks, {weights.frozen, &frozen_offsets_}}, k);
}

template <class T>
std::size_t StageModule<T>::move(const std::vector<ValueMove>& moves, std::size_t next, std::size_t at, PassPlace place,
                                 const StageBlocks& blocks) {
  for (; next < moves.size() && moves[next].at == at; ++next) {
    const ValueMove& move = moves[next];
    T* to = reinterpret_cast<T*>(blocks.at(move.to.*place));
    const T* from = reinterpret_cast<const T*>(blocks.at(move.from.*place));
    if (to == nullptr || from == nullptr) continue;
    const auto count = static_cast<std::size_t>(move.bytes) / sizeof(T);
    if (move.adds) {
      for (std::size_t i = 0; i < count; ++i) to[i] += from[i];
    } else {
      std::memcpy(to, from, static_cast<std::size_t>(move.bytes));
    }
  }
  return next;
}

template <class T>
void StageModule<T>::forward(const StageWeights<T>& weights, const StageBlocks& blocks, const MicrobatchIds& ids,
                             double* loss, std::int64_t* correct) const {
  constexpr PassPlace kPlace = &TensorPlaces::f;
  std::size_t next = 0;
  for (std::size_t k = 0; k < layers_.size(); ++k) {
    next = move(layout_->forward_moves, next, k, kPlace, blocks);
    const Step step = step_pass(k, kPlace, weights, nullptr, blocks);
    LayerPass<T> pass = step.bound();
    pass.ids = ids;
    pass.loss = loss;
    pass.correct = correct;
    pass.loss_tokens = ids.loss_tokens > 0 ? ids.loss_tokens : tokens_;
    layers_[k]->forward(pass);
  }
  move(layout_->forward_moves, next, layers_.size(), kPlace, blocks);
}

template <class T>
void StageModule<T>::reverse(const StageWeights<T>& weights, const StageBlocks& blocks, PassPlace place) const {
  const auto values = [&](const TensorPlaces& places) { return reinterpret_cast<T*>(blocks.at(places.*place)); };
  move(layout_->taken, 0, 0, place, blocks);
  for (const ReversedBlock& block : layout_->reversed) {
    const T* again = values(block.again);
    for (std::size_t k = block.begin; k < block.end; ++k) {
      const Step step = step_pass(k, place, weights, nullptr, blocks);
      LayerPass<T> pass = step.bound();
      pass.workspace = blocks.at(block.workspaces[k - block.begin].*place);
      if (k + 1 == block.end) pass.output = values(block.again);
      layers_[k]->forward(pass);
    }
    const T* made = values(layout_->values[block.made]);
    T* other = values(layout_->values[block.other]);
    const auto count = static_cast<std::size_t>(layout_->value_bytes[block.made]) / sizeof(T);
    for (std::size_t i = 0; i < count; ++i) other[i] = made[i] - again[i];
  }
  move(layout_->returned, 0, 0, place, blocks);
}

template <class T>
void StageModule<T>::recompute(const StageWeights<T>& weights, const StageBlocks& blocks,
                               const MicrobatchIds& ids) const {
  double known_loss = 0;
  forward(weights, blocks, ids, &known_loss);
}

template <class T>
void StageModule<T>::input_grad(const StageWeights<T>& weights, T* gradients, const StageBlocks& blocks) const {
  constexpr PassPlace kPlace = &TensorPlaces::i;
  reverse(weights, blocks, kPlace);
  std::size_t next = move(layout_->backward_moves, 0, layers_.size(), kPlace, blocks);
  for (std::size_t k = layers_.size(); k-- > 0;) {
    const Step step = step_pass(k, kPlace, weights, gradients, blocks);
    layers_[k]->input_grad(step.bound());
    next = move(layout_->backward_moves, next, k, kPlace, blocks);
  }
}

template <class T>
void StageModule<T>::weight_grad(T* gradients, const StageBlocks& blocks) const {
  for (std::size_t k = layers_.size(); k-- > 0;) {
    if (!has_weight_grad(layout_->steps[k])) continue;
    const Step step = step_pass(k, &TensorPlaces::w, nullptr, gradients, blocks);
    layers_[k]->weight_grad(step.bound());
  }
}

template <class T>
void StageModule<T>::backward(const StageWeights<T>& weights, T* gradients, const StageBlocks& blocks) const {
  constexpr PassPlace kPlace = &TensorPlaces::b;
  reverse(weights, blocks, kPlace);
  std::size_t next = move(layout_->backward_moves, 0, layers_.size(), kPlace, blocks);
  for (std::size_t k = layers_.size(); k-- > 0;) {
    const Step step = step_pass(k, kPlace, weights, gradients, blocks);
    layers_[k]->input_grad(step.bound());
    next = move(layout_->backward_moves, next, k, kPlace, blocks);
    if (has_weight_grad(layout_->steps[k])) layers_[k]->weight_grad(step.bound());
  }
}

template class StageModule<float>;
template class StageModule<double>;

}  // namespace plumb
