#include "trainer/stage_module.hpp"

#include <array>
#include <cassert>
#include <cstring>

#include "models/layer_shape.hpp"

namespace plumb {

namespace {

/// More than any layer has parameters or stash tensors.
constexpr std::size_t kMaxTensors = 8;

}  // namespace

template <class T>
struct StageModule<T>::Parameters {
  const T* weights = nullptr;
  T* gradients = nullptr;
};

/// The arguments of one layer, with the pointer lists that they refer to.
template <class T>
struct StageModule<T>::StepPass {
  std::array<const T*, kMaxTensors> weights{};
  std::array<T*, kMaxTensors> gradients{};
  std::array<std::byte*, kMaxTensors> stash{};
  std::vector<EarlierKeys<T>> earlier;
  LayerPass<T> pass;

  /// `pass` with spans into this object.
  LayerPass<T> bound() const {
    LayerPass<T> result = pass;
    result.weights = weights;
    result.gradients = gradients;
    result.stash = stash;
    result.earlier = earlier;
    return result;
  }
};

template <class T>
StageModule<T>::StageModule(const StageLayout& layout, const MicrobatchShape& shape)
    : layout_(&layout), tokens_(static_cast<double>(shape.tokens())) {
  for (const LayoutStep& step : layout.steps) {
    assert(step.parameters.size() <= kMaxTensors && step.stash.size() <= kMaxTensors);
    layers_.push_back(make_layer<T>(step.spec, shape));
  }
  std::int64_t offset = 0;
  for (const ParameterFacts& parameter : layout.parameters) {
    parameter_offsets_.push_back(offset);
    offset += parameter.count();
  }
  assert(layout.memory.weight_bytes == offset * static_cast<std::int64_t>(sizeof(T)) &&
         "the layout must be made with the precision of T");
}

template <class T>
typename StageModule<T>::StepPass StageModule<T>::step_pass(std::size_t k, PassPlace place,
                                                            const Parameters& parameters,
                                                            const StageBlocks& blocks) const {
  const LayoutStep& step = layout_->steps[k];
  const auto value = [&](const TensorPlaces& places) { return reinterpret_cast<T*>(blocks.at(places.*place)); };
  StepPass result;
  for (std::size_t i = 0; i < step.parameters.size(); ++i) {
    const std::int64_t offset = parameter_offsets_[step.parameters[i]];
    if (parameters.weights != nullptr) result.weights[i] = parameters.weights + offset;
    if (parameters.gradients != nullptr) result.gradients[i] = parameters.gradients + offset;
  }
  for (std::size_t i = 0; i < step.stash.size(); ++i) result.stash[i] = blocks.at(step.stash[i].*place);
  if (step.input != kNoValue) result.pass.input = value(layout_->values[step.input]);
  if (step.from != kNoValue) result.pass.from = value(layout_->values[step.from]);
  result.pass.output = value(layout_->values[step.output]);
  result.pass.output_grad = value(layout_->gradients[step.output]);
  result.pass.input_grad = value(step.input_grad);
  result.pass.from_grad = value(step.from_grad);
  result.pass.workspace = blocks.at(step.workspace.*place);
  result.pass.keys = reinterpret_cast<T*>(blocks.at(step.keys));
  result.pass.key_grads = reinterpret_cast<const T*>(blocks.at(step.key_grads));
  if (step.spec.kind == LayerKind::kAttention) add_earlier(k, blocks, result.earlier);
  return result;
}

/// The keys and values of layer `k` in earlier slices: kept apart, or in the first tensor that attention keeps.
template <class T>
void StageModule<T>::add_earlier(std::size_t k, const StageBlocks& blocks, std::vector<EarlierKeys<T>>& earlier) {
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
void StageModule<T>::forward(const T* weights, const StageBlocks& blocks, const MicrobatchIds& ids, double* loss,
                             std::int64_t* correct) const {
  constexpr PassPlace kPlace = &TensorPlaces::f;
  std::size_t next = 0;
  for (std::size_t k = 0; k < layers_.size(); ++k) {
    next = move(layout_->forward_moves, next, k, kPlace, blocks);
    const StepPass step = step_pass(k, kPlace, {weights, nullptr}, blocks);
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
void StageModule<T>::reverse(const T* weights, const StageBlocks& blocks, PassPlace place) const {
  const auto values = [&](const TensorPlaces& places) { return reinterpret_cast<T*>(blocks.at(places.*place)); };
  move(layout_->taken, 0, 0, place, blocks);
  for (const ReversedBlock& block : layout_->reversed) {
    const T* again = values(block.again);
    for (std::size_t k = block.begin; k < block.end; ++k) {
      const StepPass step = step_pass(k, place, {weights, nullptr}, blocks);
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
void StageModule<T>::recompute(const T* weights, const StageBlocks& blocks, const MicrobatchIds& ids) const {
  double known_loss = 0;
  forward(weights, blocks, ids, &known_loss);
}

template <class T>
void StageModule<T>::input_grad(const T* weights, T* gradients, const StageBlocks& blocks) const {
  constexpr PassPlace kPlace = &TensorPlaces::i;
  reverse(weights, blocks, kPlace);
  std::size_t next = move(layout_->backward_moves, 0, layers_.size(), kPlace, blocks);
  for (std::size_t k = layers_.size(); k-- > 0;) {
    const StepPass step = step_pass(k, kPlace, {weights, gradients}, blocks);
    layers_[k]->input_grad(step.bound());
    next = move(layout_->backward_moves, next, k, kPlace, blocks);
  }
}

template <class T>
void StageModule<T>::weight_grad(T* gradients, const StageBlocks& blocks) const {
  for (std::size_t k = layers_.size(); k-- > 0;) {
    const StepPass step = step_pass(k, &TensorPlaces::w, {nullptr, gradients}, blocks);
    layers_[k]->weight_grad(step.bound());
  }
}

template <class T>
void StageModule<T>::backward(const T* weights, T* gradients, const StageBlocks& blocks) const {
  constexpr PassPlace kPlace = &TensorPlaces::b;
  reverse(weights, blocks, kPlace);
  std::size_t next = move(layout_->backward_moves, 0, layers_.size(), kPlace, blocks);
  for (std::size_t k = layers_.size(); k-- > 0;) {
    const StepPass step = step_pass(k, kPlace, {weights, gradients}, blocks);
    layers_[k]->input_grad(step.bound());
    next = move(layout_->backward_moves, next, k, kPlace, blocks);
    layers_[k]->weight_grad(step.bound());
  }
}

template class StageModule<float>;
template class StageModule<double>;

}  // namespace plumb
