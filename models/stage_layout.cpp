#include "models/stage_layout.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

#include "models/error.hpp"
#include "models/layer_kinds.hpp"
#include "models/workspace_plan.hpp"

namespace plumb {

namespace {

struct StageSetting {
  bool first = false;
  bool last = false;
  std::optional<std::int64_t> input_bytes;  ///< handed over by the previous stage; default: what the first layer reads
  const LayerSpec* embedding = nullptr;     ///< whose weight a tied head shares
  const MicrobatchShape& shape;
  const Precision& precision;
};

/// Fills a layout in four passes over the layers: open the residual blocks, values, gradients, what layers own.
class LayoutBuilder {
 public:
  explicit LayoutBuilder(const StageSetting& setting) : setting_(setting) {
    layout_.first = setting.first;
    layout_.last = setting.last;
    layout_.shape = setting.shape;
  }

  StageLayout build(std::span<const LayerSpec> layers) {
    for (const LayerSpec& layer : layers) open(layer);
    size_values();
    place_values();
    place_gradients();
    place_layer_tensors();
    finish_memory();
    return std::move(layout_);
  }

 private:
  std::size_t depth() const { return layout_.steps.size(); }
  /// Position of a layer in the backward passes, which go from the last layer to the first.
  std::size_t backward_step(std::size_t layer) const { return depth() - 1 - layer; }
  LayoutStep& step(std::size_t k) { return layout_.steps[k]; }

  void open(const LayerSpec& layer) {
    if (layer.kind == LayerKind::kResidual) {
      open_residual(layer);
    } else {
      LayoutStep opened{.spec = layer, .facts = describe(layer, setting_.shape, setting_.precision)};
      opened.stash.resize(opened.facts.stash.size());
      layout_.steps.push_back(std::move(opened));
      add_parameters(layout_.steps.back());
    }
  }

  void open_residual(const LayerSpec& layer) {
    if (layer.body.empty()) throw Error("layer '" + layer.name + "': a residual needs at least one layer in its body");
    const std::size_t from = depth();
    for (const LayerSpec& inner : layer.body) open(inner);
    const std::int64_t in = step(from).facts.input_bytes;
    const std::int64_t out = layout_.steps.back().facts.output_bytes;
    if (in == 0 || in != out) {
      throw Error("layer '" + layer.name + "': the body's output (" + std::to_string(out) +
                  " bytes) must be as large as its input (" + std::to_string(in) + " bytes)");
    }
    layout_.skips.push_back({from, depth()});
  }

  void add_parameters(LayoutStep& owner) {
    for (const ParameterFacts& described : owner.facts.parameters) {
      ParameterFacts parameter = described;
      if (parameter.tied) resolve_tie(owner.spec, parameter);
      auto& all = layout_.parameters;
      const auto same = std::find_if(all.begin(), all.end(),
                                     [&](const ParameterFacts& known) { return known.name == parameter.name; });
      owner.parameters.push_back(static_cast<std::size_t>(same - all.begin()));
      if (same == all.end()) all.push_back(std::move(parameter));
    }
  }

  void resolve_tie(const LayerSpec& head, ParameterFacts& parameter) const {
    const LayerSpec* embedding = setting_.embedding;
    if (embedding == nullptr) throw Error("layer '" + head.name + "': tied, but the network has no embedding");
    if (embedding->vocabulary != head.vocabulary || embedding->width != head.width) {
      throw Error("layer '" + head.name + "': tied to '" + embedding->name + "', but of another vocabulary or width");
    }
    parameter.name = embedding->name + ".weight";
  }

  void size_values() {
    auto& bytes = layout_.value_bytes;
    bytes.assign(depth() + 1, 0);
    if (!layout_.first) bytes[0] = setting_.input_bytes.value_or(step(0).facts.input_bytes);
    for (std::size_t k = 0; k < depth(); ++k) bytes[k + 1] = step(k).facts.output_bytes;
    if (layout_.last) bytes[depth()] = 0;
    for (std::size_t k = layout_.first ? 1 : 0; k < depth(); ++k) {
      const std::int64_t expected = step(k).facts.input_bytes;
      if (expected != bytes[k] && step(k).spec.kind != LayerKind::kProfiled) {
        throw Error("layer '" + step(k).spec.name + "': reads " + std::to_string(expected) +
                    " bytes per microbatch, but the layer before it makes " + std::to_string(bytes[k]));
      }
    }
  }

  /// Appends a tensor that is kept between passes to the block of its life.
  TensorPlace keep(StashTensor tensor) {
    const bool by_forward = tensor.made_by == StashTensor::MadeBy::kForward;
    const bool for_input_grad = tensor.last_use == LastUse::kInputGrad;
    BlockSize& size = !by_forward      ? layout_.made_by_input_grad
                      : for_input_grad ? layout_.kept_for_input_grad
                                       : layout_.kept_for_weight_grad;
    const StageBlock block = !by_forward      ? StageBlock::kMadeByInputGrad
                             : for_input_grad ? StageBlock::kKeptForInputGrad
                                              : StageBlock::kKeptForWeightGrad;
    const TensorPlace place{block, size.storage};
    size.bytes += tensor.bytes;
    size.storage += aligned_bytes(tensor.bytes);
    layout_.memory.stash.push_back(std::move(tensor));
    return place;
  }

  void place_values() {
    auto& values = layout_.values;
    values.resize(depth() + 1);
    if (layout_.value_bytes.front() > 0)
      values.front() = placed_until(StageBlock::kInput, step(0).facts.input_last_use);
    if (layout_.value_bytes.back() > 0) values.back().f = {StageBlock::kOutput, 0};
    for (std::size_t k = 1; k < depth(); ++k) {
      const LastUse last_use = step(k).facts.input_last_use;
      const std::int64_t bytes = layout_.value_bytes[k];
      if (bytes == 0) continue;
      if (last_use == LastUse::kForward) {
        std::size_t end = k;
        for (const SkipConnection& skip : layout_.skips) {
          if (skip.from == k) end = std::max(end, skip.to - 1);
        }
        forward_.add(values[k].f, bytes, k - 1, end);
      } else {
        values[k] = placed_until(
            keep({step(k - 1).spec.name + ".output", bytes, StashTensor::MadeBy::kForward, last_use}), last_use);
      }
    }
  }

  static TensorPlaces placed_until(TensorPlace place, LastUse last_use) {
    TensorPlaces places{.f = place};
    if (last_use != LastUse::kForward) places.i = places.b = place;
    if (last_use == LastUse::kWeightGrad) places.w = place;
    return places;
  }
  static TensorPlaces placed_until(StageBlock block, LastUse last_use) {
    return placed_until(TensorPlace{block, 0}, last_use);
  }

  void place_gradients() {
    auto& gradients = layout_.gradients;
    gradients.resize(depth() + 1);
    if (layout_.value_bytes.front() > 0) gradients.front().i = gradients.front().b = {StageBlock::kInputGrad, 0};
    for (std::size_t k = 1; k < depth(); ++k) place_inner_gradient(k);
    const std::int64_t bytes = layout_.value_bytes.back();
    if (bytes == 0) return;
    gradients.back().i = gradients.back().b = {StageBlock::kOutputGrad, 0};
    layout_.copies_output_grad = step(depth() - 1).facts.output_grad_last_use == LastUse::kWeightGrad;
    if (layout_.copies_output_grad) gradients.back().w = keep(gradient_tensor(depth()));
  }

  StashTensor gradient_tensor(std::size_t value) {
    return {step(value - 1).spec.name + ".output_grad", layout_.value_bytes[value], StashTensor::MadeBy::kInputGrad,
            LastUse::kWeightGrad};
  }

  void place_inner_gradient(std::size_t k) {
    TensorPlaces& places = layout_.gradients[k];
    const std::int64_t bytes = layout_.value_bytes[k];
    std::size_t end = backward_step(k - 1);
    for (const SkipConnection& skip : layout_.skips) {
      if (skip.to == k) end = std::max(end, backward_step(skip.from));
    }
    if (step(k - 1).facts.output_grad_last_use == LastUse::kWeightGrad && bytes > 0) {
      places.i = places.w = keep(gradient_tensor(k));
    } else {
      input_grad_.add(places.i, bytes, backward_step(k), end);
    }
    backward_.add(places.b, bytes, backward_step(k), end);
  }

  void place_layer_tensors() {
    for (std::size_t k = 0; k < depth(); ++k) {
      LayoutStep& owner = step(k);
      for (std::size_t t = 0; t < owner.stash.size(); ++t) place_stash(owner, t, backward_step(k));
      const LayerFacts& facts = owner.facts;
      if (facts.key_grad_bytes > 0) {
        owner.key_grads = {StageBlock::kKeyGrads, layout_.key_grads.storage};
        layout_.key_grads.bytes += facts.key_grad_bytes;
        layout_.key_grads.storage += aligned_bytes(facts.key_grad_bytes);
      }
      layout_.memory.key_grads_made_bytes += facts.earlier_key_grad_bytes;
      forward_.add(owner.workspace.f, facts.forward.workspace_bytes, k, k);
      input_grad_.add(owner.workspace.i, facts.input_grad.workspace_bytes, k, k);
      weight_grad_.add(owner.workspace.w, facts.weight_grad.workspace_bytes, k, k);
      backward_.add(owner.workspace.b, std::max(facts.input_grad.workspace_bytes, facts.weight_grad.workspace_bytes),
                    backward_step(k), backward_step(k));
    }
  }

  void place_stash(LayoutStep& owner, std::size_t t, std::size_t backward) {
    const StashTensor& tensor = owner.facts.stash[t];
    const TensorPlace place = keep(tensor);
    if (tensor.made_by == StashTensor::MadeBy::kForward) {
      owner.stash[t] = placed_until(place, tensor.last_use);
    } else {
      owner.stash[t].i = owner.stash[t].w = place;
      backward_.add(owner.stash[t].b, tensor.bytes, backward, backward);
    }
  }

  void finish_memory() {
    const std::int64_t parameters =
        std::accumulate(layout_.parameters.begin(), layout_.parameters.end(), std::int64_t{0},
                        [](std::int64_t sum, const ParameterFacts& parameter) { return sum + parameter.count(); });
    StageMemory& memory = layout_.memory;
    memory.weight_bytes = parameters * setting_.precision.weight_bytes;
    memory.gradient_bytes = parameters * setting_.precision.gradient_bytes;
    memory.optimizer_bytes = parameters * setting_.precision.optimizer_bytes;
    memory.input_bytes = memory.input_grad_bytes = layout_.value_bytes.front();
    memory.input_last_use = layout_.first ? LastUse::kForward : step(0).facts.input_last_use;
    memory.output_bytes = memory.output_grad_bytes = layout_.value_bytes.back();
    memory.key_grads_freed_bytes = layout_.key_grads.bytes;
    memory.workspace_f_bytes = forward_.finish();
    memory.workspace_i_bytes = input_grad_.finish();
    memory.workspace_w_bytes = weight_grad_.finish();
    memory.workspace_b_bytes = backward_.finish();
  }

  const StageSetting& setting_;
  StageLayout layout_;
  WorkspacePlan forward_;
  WorkspacePlan input_grad_;
  WorkspacePlan weight_grad_;
  WorkspacePlan backward_;
};

}  // namespace

StageLayout stage_layout(std::span<const LayerSpec> chain, LayerRange range, const MicrobatchShape& shape,
                         const Precision& precision) {
  assert(range.begin < range.end && range.end <= chain.size() && "a stage has at least one layer of the chain");
  const auto embedding = std::find_if(chain.begin(), chain.end(),
                                      [](const LayerSpec& layer) { return layer.kind == LayerKind::kEmbedding; });
  const bool first = range.begin == 0;
  const StageSetting setting{.first = first,
                             .last = range.end == chain.size(),
                             .input_bytes = first ? 0 : describe(chain[range.begin - 1], shape, precision).output_bytes,
                             .embedding = embedding == chain.end() ? nullptr : &*embedding,
                             .shape = shape,
                             .precision = precision};
  return LayoutBuilder(setting).build(chain.subspan(range.begin, range.end - range.begin));
}

StageMemory stage_memory(std::span<const LayerSpec> chain, LayerRange range, const MicrobatchShape& shape,
                         const Precision& precision) {
  return stage_layout(chain, range, shape, precision).memory;
}

/// A residual block is laid out as a stage of its own in the middle of a network; what is kept follows.
LayerFacts describe_residual(const LayerSizes& sizes) {
  const StageSetting setting{.input_bytes = {}, .shape = sizes.shape, .precision = sizes.precision};
  StageLayout layout = LayoutBuilder(setting).build(std::span(&sizes.spec, 1));
  LayerFacts facts;
  for (const LayoutStep& step : layout.steps) {
    for (auto [total, part] :
         {std::pair{&facts.forward, &step.facts.forward}, std::pair{&facts.input_grad, &step.facts.input_grad},
          std::pair{&facts.weight_grad, &step.facts.weight_grad}}) {
      total->flops += part->flops;
      total->bytes_moved += part->bytes_moved;
    }
  }
  for (const SkipConnection& skip : layout.skips) {
    const std::int64_t addition = 3 * layout.value_bytes[skip.from];  // two operands and the sum
    facts.forward.bytes_moved += addition;
    facts.input_grad.bytes_moved += addition;
  }
  facts.forward.workspace_bytes = layout.memory.workspace_f_bytes;
  facts.input_grad.workspace_bytes = layout.memory.workspace_i_bytes;
  facts.weight_grad.workspace_bytes = layout.memory.workspace_w_bytes;
  facts.input_last_use = layout.steps.front().facts.input_last_use;
  facts.output_grad_last_use = layout.steps.back().facts.output_grad_last_use;
  facts.input_bytes = layout.memory.input_bytes;
  facts.output_bytes = layout.memory.output_bytes;
  facts.parameters = std::move(layout.parameters);
  facts.stash = std::move(layout.memory.stash);
  if (layout.copies_output_grad) {
    std::erase_if(facts.stash, [&](const StashTensor& tensor) {
      return tensor.name == layout.steps.back().spec.name + ".output_grad";
    });
  }
  return facts;
}

}  // namespace plumb
