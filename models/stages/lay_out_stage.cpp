#include "models/stages/lay_out_stage.hpp"

#include <algorithm>
#include <cassert>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "models/layers/describe_layer.hpp"
#include "models/layers/layer_kinds.hpp"
#include "models/network/flow.hpp"
#include "models/network/layer_shape.hpp"
#include "models/stages/stage_flow.hpp"
#include "models/stages/stage_layout.hpp"
#include "models/stages/stage_reversal.hpp"
#include "models/stages/stage_tensors.hpp"
#include "models/stages/workspace_plan.hpp"

namespace plumb {
namespace {

class MoveBuilder {
 public:
  MoveBuilder(const StageFlow& stage, StageLayout& layout)
      : stage_(stage), layout_(layout), done_(stage.values.size(), false) {}

  void build() {
    keep_inputs();
    for (const StageSum& sum : stage_.sums) {
      layout_.forward_moves.push_back(
          {sum.at, {.f = layout_.values[sum.to].f}, {.f = layout_.values[sum.from].f}, bytes(sum.to), sum.adds});
    }
    keep_received_gradients();
    place_step_gradients();
    for (std::size_t value = 0; value < stage_.values.size(); ++value) complete(value);
    std::ranges::stable_sort(layout_.backward_moves, std::greater<>(), &ValueMove::at);
  }

 private:
  std::int64_t bytes(std::size_t value) const { return layout_.value_bytes[value]; }
  bool has_gradient(std::size_t value) const { return stage_.values[value].needs_gradient && bytes(value) > 0; }

  /// Keeps what the backward reads of a message that does not live until then; a stage that reverses makes it again.
  void keep_inputs() {
    if (!layout_.reversed.empty()) return;
    for (std::size_t value = 0; value < stage_.inputs; ++value) {
      const TensorPlaces& places = layout_.values[value];
      if (places.i.block == StageBlock::kNone || places.i == places.f) continue;
      layout_.forward_moves.push_back({0, {.f = places.i}, {.f = places.f}, bytes(value), false});
    }
  }

  void keep_received_gradients() {
    for (const std::size_t value : layout_.copied_grads) {
      const TensorPlaces& places = layout_.gradients[value];
      layout_.backward_moves.push_back({stage_.steps.size(), {.i = places.w}, {.i = places.i}, bytes(value), false});
    }
  }

  /// The last reader of a value writes the gradient; of the others it is added.
  void place_step_gradients() {
    std::vector<bool> written(stage_.values.size(), false);
    for (std::size_t k = stage_.steps.size(); k-- > 0;) {
      LayoutStep& step = layout_.steps[k];
      for (const auto& [value, place] :
           {std::pair{step.input, &step.input_grad}, std::pair{step.from, &step.from_grad}}) {
        if (value == kNoValue || !has_gradient(value)) continue;
        if (written[value]) {
          layout_.backward_moves.push_back({k, layout_.gradients[value], *place, bytes(value), true});
        } else {
          *place = layout_.gradients[value];
        }
        written[value] = true;
      }
    }
  }

  /// What sums hand on to `value`, after they are complete themselves.
  void complete(std::size_t number) {
    if (done_[number]) return;
    done_[number] = true;
    const StageValue& value = stage_.values[number];
    for (const std::size_t sum : value.sums) complete(stage_.sums[sum].to);
    if (!has_gradient(number)) return;
    bool written = !value.steps.empty();
    std::vector<std::size_t> sums = value.sums;
    if (!written) std::ranges::reverse(sums);  // the backward meets the last one first
    for (const std::size_t sum : sums) {
      const std::size_t to = stage_.sums[sum].to;
      if (!has_gradient(to)) continue;
      layout_.backward_moves.push_back({stage_.handed_on_at(value, sum), backward_places(layout_.gradients[number]),
                                        backward_places(layout_.gradients[to]), bytes(number), written});
      written = true;
    }
  }

  /// W moves nothing.
  static TensorPlaces backward_places(const TensorPlaces& places) { return {.i = places.i, .b = places.b}; }

  const StageFlow& stage_;
  StageLayout& layout_;
  std::vector<bool> done_;
};

/// The last pass over a layout whose tensors have their places: adds what is copied and added between the layers,
/// forward and backward, and where each layer leaves its gradients. Internal to `stage_layout`.
void add_moves(const StageFlow& stage, StageLayout& layout) { MoveBuilder(stage, layout).build(); }

struct StageSetting {
  bool first = false;
  bool last = false;
  const LayerSpec* embedding = nullptr;  ///< whose weight a tied head shares
  const MicrobatchShape& shape;
  const Precision& precision;
  bool reverses = false;
  bool returns = false;  ///< the stage before reverses: the inputs go back
};

/// Fills a layout in passes over layers and values: open, sizes, values, gradients, what layers own, moves.
class LayoutBuilder {
 public:
  LayoutBuilder(const Flow& flow, const StageSetting& setting) : flow_(flow), setting_(setting) {
    layout_.first = setting.first;
    layout_.last = setting.last;
    layout_.shape = setting.shape;
  }

  /// Lays out the nodes [begin, end).
  StageLayout build(std::size_t begin, std::size_t end) {
    stage_ = stage_flow(flow_, begin, end, setting_.last);
    for (const StageStep& opened : stage_.steps) open(opened);
    size_values();
    check_sizes();
    place_values();
    place_gradients();
    place_scratch();
    place_layer_tensors();
    if (setting_.reverses) place_reversal(stage_, layout_, input_grad_, backward_);
    finish_memory();
    if (setting_.reverses) take_outputs(stage_, layout_, taken_);
    if (setting_.returns) return_inputs(stage_, layout_, returned_);
    add_moves(stage_, layout_);
    return std::move(layout_);
  }

 private:
  using Origin = StageValue::Origin;

  std::size_t depth() const { return layout_.steps.size(); }
  /// Position of a layer in the backward passes, which go from the last layer to the first.
  std::size_t backward_step(std::size_t layer) const { return depth() - 1 - layer; }
  /// Returns the backward step after which moves at `at` take place.
  std::size_t backward_time(std::size_t at) const { return at < depth() ? backward_step(at) : 0; }
  LayoutStep& step(std::size_t k) { return layout_.steps[k]; }

  void open(const StageStep& of) {
    const LayerSpec& layer = *flow_.node(of.node).layer;
    LayoutStep opened{.spec = layer, .facts = describe(layer, setting_.shape, setting_.precision)};
    opened.stash.resize(opened.facts.stash.size());
    opened.input = of.input;
    opened.from = of.from;
    opened.output = of.output;
    layout_.reads_data = layout_.reads_data || reads_data(layer);
    layout_.steps.push_back(std::move(opened));
    add_parameters(layout_.steps.back());
  }

  void add_parameters(LayoutStep& owner) {
    for (const ParameterFacts& described : owner.facts.parameters) {
      ParameterFacts parameter = described;
      if (parameter.tied) resolve_tie(owner.spec, parameter);
      auto& all = parameter.frozen ? layout_.frozen : layout_.parameters;
      const auto same = std::find_if(all.begin(), all.end(),
                                     [&](const ParameterFacts& known) { return known.name == parameter.name; });
      owner.parameters.push_back({static_cast<std::size_t>(same - all.begin()), parameter.frozen});
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

  /// Returns what a layer in front of the stage makes; a sum is as large as its parts.
  std::int64_t output_bytes(std::int32_t node) const {
    while (flow_.node(node).is_sum()) node = flow_.node(node).input;
    if (node < 0) return 0;
    return describe(*flow_.node(node).layer, setting_.shape, setting_.precision).output_bytes;
  }

  std::int64_t received_bytes(const StageValue& value) {
    if (value.node != FlowNode::kOutside) return output_bytes(value.node);
    if (setting_.first || value.steps.empty()) return 0;
    return step(value.steps.front()).facts.input_bytes;
  }

  void size_values() {
    auto& bytes = layout_.value_bytes;
    for (const StageValue& value : stage_.values) {
      if (value.origin == Origin::kInput) bytes.push_back(received_bytes(value));
      if (value.origin == Origin::kStep) bytes.push_back(step(value.made_at).facts.output_bytes);
      if (value.origin == Origin::kSum || value.origin == Origin::kCarried) {
        const auto made = std::ranges::find(stage_.sums, bytes.size(), &StageSum::to);
        bytes.push_back(bytes[made->from]);
      }
    }
    const bool ends = setting_.last && !stage_.steps.empty();
    if (ends && stage_.outputs.empty()) bytes[stage_.steps.back().output] = 0;
  }

  void check_input(const LayoutStep& reader, std::size_t value, std::int64_t expected) const {
    if (value == kNoValue || expected == layout_.value_bytes[value]) return;
    const bool unknown = stage_.values[value].node == FlowNode::kOutside && setting_.first;
    if (unknown || reader.spec.kind == LayerKind::kProfiled) return;
    throw Error("layer '" + reader.spec.name + "': reads " + std::to_string(expected) +
                " bytes per microbatch, but the layer before it makes " + std::to_string(layout_.value_bytes[value]));
  }

  void check_sizes() const {
    for (const LayoutStep& reader : layout_.steps) {
      check_input(reader, reader.input, reader.facts.input_bytes);
      check_input(reader, reader.from, reader.facts.from_bytes);
    }
    for (const StageSum& sum : stage_.sums) {
      const std::int64_t to = layout_.value_bytes[sum.to];
      const std::int64_t from = layout_.value_bytes[sum.from];
      if (to == from && (from > 0 || !sum.adds)) continue;
      throw Error("layer '" + flow_.node(stage_.values[sum.to].node).layer->name + "': the body's output (" +
                  std::to_string(to) + " bytes) must be as large as its input (" + std::to_string(from) + " bytes)");
    }
  }

  TensorPlace keep(StashTensor tensor) { return keep_tensor(layout_, std::move(tensor)); }

  /// Values of a message one after the other, after what has that size; returns its size.
  std::int64_t pack(StageBlock block, std::span<const std::size_t> values, std::vector<TensorPlace>& places,
                    std::int64_t size = 0) const {
    for (const std::size_t value : values) {
      const std::int64_t bytes = layout_.value_bytes[value];
      const std::int64_t offset = aligned_bytes(size);
      places[value] = bytes > 0 ? TensorPlace{block, offset} : TensorPlace{};
      if (bytes > 0) size = offset + bytes;
    }
    return size;
  }

  LastUse last_use(std::size_t value) {
    LastUse last = LastUse::kForward;
    for (const std::size_t k : stage_.values[value].steps) {
      if (step(k).input == value) last = std::max(last, step(k).facts.input_last_use);
      if (step(k).from == value) last = std::max(last, step(k).facts.from_last_use);
    }
    return last;
  }

  LastUse kept_until(std::size_t value) {
    if (setting_.reverses) return LastUse::kForward;
    const bool returned = setting_.returns && value < stage_.inputs;
    return returned ? std::max(LastUse::kInputGrad, last_use(value)) : last_use(value);
  }

  std::string maker(const StageValue& value) const {
    if (value.origin == Origin::kStep) return layout_.steps[value.made_at].spec.name;
    return value.node < 0 ? "input" : flow_.node(value.node).layer->name;
  }

  TensorPlace keep_value(std::size_t value, LastUse last) {
    const StashTensor tensor{maker(stage_.values[value]) + ".output", layout_.value_bytes[value],
                             StashTensor::MadeBy::kForward, last};
    return keep(tensor);
  }

  void place_values() {
    layout_.values.resize(stage_.values.size());
    std::vector<TensorPlace> places(stage_.values.size());
    place_inputs(places);
    layout_.memory.output_bytes = pack(StageBlock::kOutput, stage_.outputs, places);
    for (const std::size_t value : stage_.outputs) layout_.values[value].f = places[value];
    for (std::size_t value = stage_.inputs; value < stage_.values.size(); ++value) {
      const std::int64_t bytes = layout_.value_bytes[value];
      if (bytes == 0 || stage_.values[value].is_output) continue;
      const LastUse last = kept_until(value);
      if (last == LastUse::kForward) {
        const auto [begin, end] = forward_life(stage_.values[value]);
        forward_.add(layout_.values[value].f, bytes, begin, end);
      } else {
        layout_.values[value] = placed_until(keep_value(value, last), last);
      }
    }
  }

  /// The received message is kept for the backward when all of it is read there; otherwise what is read is copied.
  void place_inputs(std::vector<TensorPlace>& places) {
    std::vector<std::size_t> inputs(stage_.inputs);
    std::iota(inputs.begin(), inputs.end(), std::size_t{0});
    StageMemory& memory = layout_.memory;
    memory.input_bytes = pack(StageBlock::kInput, inputs, places);
    LastUse least = LastUse::kWeightGrad;
    for (const std::size_t value : inputs) {
      memory.input_last_use = std::max(memory.input_last_use, kept_until(value));
      least = std::min(least, kept_until(value));
    }
    if (layout_.first) memory.input_last_use = LastUse::kForward;
    const bool copies = least != memory.input_last_use && memory.input_bytes > 0;
    if (copies) memory.input_last_use = LastUse::kForward;
    for (const std::size_t value : inputs) {
      const LastUse last = kept_until(value);
      layout_.values[value] = placed_until(places[value], last);
      if (!copies || last == LastUse::kForward) continue;
      layout_.values[value] = placed_until(keep_value(value, last), last);
      layout_.values[value].f = places[value];
    }
  }

  std::pair<std::size_t, std::size_t> forward_life(const StageValue& value) const {
    const auto step_before = [](std::size_t at) { return at == 0 ? 0 : at - 1; };
    const std::size_t begin = value.origin == Origin::kStep ? value.made_at : step_before(value.made_at);
    std::size_t end = begin;
    for (const std::size_t reader : value.steps) end = std::max(end, reader);
    for (const std::size_t sum : value.sums) end = std::max(end, step_before(stage_.sums[sum].at));
    return {begin, end};
  }

  static TensorPlaces placed_until(TensorPlace place, LastUse last_use) {
    TensorPlaces places{.f = place};
    if (last_use != LastUse::kForward) places.i = places.b = place;
    if (last_use == LastUse::kWeightGrad) places.w = place;
    return places;
  }

  bool has_gradient(std::size_t value) const {
    return stage_.values[value].needs_gradient && layout_.value_bytes[value] > 0;
  }

  void place_gradients() {
    auto& gradients = layout_.gradients;
    gradients.resize(stage_.values.size());
    std::vector<std::size_t> received;
    std::vector<std::size_t> sent;
    for (std::size_t value = 0; value < stage_.inputs; ++value) {
      if (has_gradient(value)) sent.push_back(value);
    }
    std::ranges::copy_if(stage_.outputs, std::back_inserter(received), [&](auto value) { return has_gradient(value); });
    std::vector<TensorPlace> places(stage_.values.size());
    layout_.memory.input_grad_bytes = pack(StageBlock::kInputGrad, sent, places);
    layout_.memory.output_grad_bytes = pack(StageBlock::kOutputGrad, received, places);
    place_values_sent_back();
    for (const std::size_t value : sent) gradients[value].i = gradients[value].b = places[value];
    for (std::size_t value = stage_.inputs; value < stage_.values.size(); ++value) {
      if (!has_gradient(value)) continue;
      if (stage_.values[value].is_output) {
        place_received_gradient(value, places[value]);
      } else {
        place_inner_gradient(value);
      }
    }
  }

  void place_values_sent_back() {
    StageMemory& memory = layout_.memory;
    returned_.resize(stage_.values.size());
    taken_.resize(stage_.values.size());
    std::vector<std::size_t> inputs(stage_.inputs);
    std::iota(inputs.begin(), inputs.end(), std::size_t{0});
    if (setting_.returns) {
      memory.input_grad_bytes = pack(StageBlock::kInputGrad, inputs, returned_, memory.input_grad_bytes);
    }
    if (setting_.reverses) {
      memory.output_grad_bytes = pack(StageBlock::kOutputGrad, stage_.outputs, taken_, memory.output_grad_bytes);
    }
  }

  /// W of the layer that makes a value reads its gradient, too.
  bool weight_grad_reads(const StageValue& value) {
    return value.origin == Origin::kStep && step(value.made_at).facts.output_grad_last_use == LastUse::kWeightGrad;
  }

  StashTensor gradient_tensor(std::size_t value) {
    return {maker(stage_.values[value]) + ".output_grad", layout_.value_bytes[value], StashTensor::MadeBy::kInputGrad,
            LastUse::kWeightGrad};
  }

  void place_received_gradient(std::size_t value, TensorPlace place) {
    TensorPlaces& places = layout_.gradients[value];
    places.i = places.b = place;
    if (!weight_grad_reads(stage_.values[value])) return;
    places.w = keep(gradient_tensor(value));
    layout_.copied_grads.push_back(value);
  }

  void place_inner_gradient(std::size_t value) {
    TensorPlaces& places = layout_.gradients[value];
    const std::int64_t bytes = layout_.value_bytes[value];
    const auto [begin, end] = backward_life(value);
    if (weight_grad_reads(stage_.values[value])) {
      places.i = places.w = keep(gradient_tensor(value));
    } else {
      input_grad_.add(places.i, bytes, begin, end);
    }
    backward_.add(places.b, bytes, begin, end);
  }

  /// Returns the life of a gradient: from the first contribution to the layer that makes the value, or to the last sum
  /// that hands it on.
  std::pair<std::size_t, std::size_t> backward_life(std::size_t number) const {
    const StageValue& value = stage_.values[number];
    const std::size_t begin = value.steps.empty() ? backward_time(stage_.handed_on_at(value, value.sums.back()))
                                                  : backward_step(value.steps.back());
    std::size_t end = value.origin == Origin::kStep ? backward_step(value.made_at) : begin;
    for (std::size_t sum = 0; sum < stage_.sums.size(); ++sum) {
      if (stage_.sums[sum].to != number) continue;
      end = std::max(end, backward_time(stage_.handed_on_at(stage_.values[stage_.sums[sum].from], sum)));
    }
    return {begin, end};
  }

  /// Places what is beside gradients: of several layers that read a value, the last one writes its gradient.
  void place_scratch() {
    std::vector<bool> written(stage_.values.size(), false);
    for (std::size_t k = depth(); k-- > 0;) {
      LayoutStep& reader = step(k);
      for (const auto& [value, place] :
           {std::pair{reader.input, &reader.input_grad}, std::pair{reader.from, &reader.from_grad}}) {
        if (value == kNoValue || layout_.value_bytes[value] == 0) continue;
        const bool wanted = stage_.values[value].needs_gradient;
        const bool direct = wanted && !written[value];
        written[value] = true;
        if (direct || (!wanted && reader.facts.input_grad_optional)) continue;
        input_grad_.add(place->i, layout_.value_bytes[value], backward_step(k), backward_step(k));
        backward_.add(place->b, layout_.value_bytes[value], backward_step(k), backward_step(k));
      }
    }
  }

  void place_layer_tensors() {
    for (std::size_t k = 0; k < depth(); ++k) {
      LayoutStep& owner = step(k);
      for (std::size_t t = 0; t < owner.stash.size(); ++t) place_stash(owner, t, k);
      const LayerFacts& facts = owner.facts;
      if (facts.key_grad_bytes > 0) {
        owner.key_grads = {StageBlock::kKeyGrads, layout_.key_grads.storage};
        owner.keys = {StageBlock::kKeys, layout_.key_grads.storage};
        layout_.key_grads.bytes += facts.key_grad_bytes;
        layout_.key_grads.storage += aligned_bytes(facts.key_grad_bytes);
      }
      layout_.memory.key_grads_made_bytes += facts.earlier_key_grad_bytes;
      forward_.add(owner.workspace.f, facts.forward.workspace_bytes, k, k);
      input_grad_.add(owner.workspace.i, facts.input_grad.workspace_bytes, backward_step(k), backward_step(k));
      weight_grad_.add(owner.workspace.w, facts.weight_grad.workspace_bytes, k, k);
      backward_.add(owner.workspace.b, std::max(facts.input_grad.workspace_bytes, facts.weight_grad.workspace_bytes),
                    backward_step(k), backward_step(k));
    }
  }

  void place_stash(LayoutStep& owner, std::size_t t, std::size_t k) {
    const StashTensor& tensor = owner.facts.stash[t];
    const bool by_forward = tensor.made_by == StashTensor::MadeBy::kForward;
    if (by_forward && setting_.reverses) return forward_.add(owner.stash[t].f, tensor.bytes, k, k);
    const TensorPlace place = keep(tensor);
    if (by_forward) {
      owner.stash[t] = placed_until(place, tensor.last_use);
    } else {
      owner.stash[t].i = owner.stash[t].w = place;
      backward_.add(owner.stash[t].b, tensor.bytes, backward_step(k), backward_step(k));
    }
  }

  void finish_memory() {
    const auto count = [](const std::vector<ParameterFacts>& of) {
      return std::accumulate(of.begin(), of.end(), std::int64_t{0},
                             [](std::int64_t sum, const ParameterFacts& parameter) { return sum + parameter.count(); });
    };
    const std::int64_t parameters = count(layout_.parameters);
    StageMemory& memory = layout_.memory;
    memory.frozen_bytes = count(layout_.frozen) * setting_.precision.weight_bytes;
    memory.weight_bytes = memory.frozen_bytes + parameters * setting_.precision.weight_bytes;
    memory.gradient_bytes = parameters * setting_.precision.gradient_bytes;
    memory.optimizer_bytes = parameters * setting_.precision.optimizer_bytes;
    memory.key_grads_freed_bytes = layout_.key_grads.bytes;
    if (setting_.last && makes_logits(layout_.steps.back().spec.kind)) {
      memory.logit_bytes = layout_.steps.back().facts.stash.front().bytes;
    }
    memory.workspace_f_bytes = forward_.finish();
    memory.workspace_i_bytes = input_grad_.finish();
    memory.workspace_w_bytes = weight_grad_.finish();
    memory.workspace_b_bytes = backward_.finish();
  }

  const Flow& flow_;
  const StageSetting& setting_;
  StageFlow stage_;
  StageLayout layout_;
  std::vector<TensorPlace> returned_;  ///< places in the message to the stage before, by value
  std::vector<TensorPlace> taken_;     ///< places in the message from the next stage, by value
  WorkspacePlan forward_;
  WorkspacePlan input_grad_;
  WorkspacePlan weight_grad_;
  WorkspacePlan backward_;
};

}  // namespace

namespace {

StageLayout lay_out(std::span<const LayerSpec> chain, LayerRange range, StageSetting setting) {
  assert(range.begin < range.end && range.end <= chain.size() && "a stage has at least one layer of the chain");
  const Flow flow = open_chain(chain);
  setting.first = range.begin == 0;
  setting.last = range.end == chain.size();
  setting.embedding = last_embedding(chain);
  return LayoutBuilder(flow, setting).build(flow.begin[range.begin], flow.begin[range.end]);
}

}  // namespace

StageLayout stage_layout(std::span<const LayerSpec> chain, LayerRange range, const MicrobatchShape& shape,
                         const Precision& precision, LayerRange before) {
  return lay_out(chain, range,
                 {.shape = shape,
                  .precision = precision,
                  .reverses = can_reverse(chain, range, shape),
                  .returns = can_reverse(chain, before, shape)});
}

StageLayout plain_stage_layout(std::span<const LayerSpec> chain, LayerRange range, const MicrobatchShape& shape,
                               const Precision& precision) {
  return lay_out(chain, range, {.shape = shape, .precision = precision});
}

StageMemory stage_memory(std::span<const LayerSpec> chain, LayerRange range, const MicrobatchShape& shape,
                         const Precision& precision, LayerRange before) {
  return stage_layout(chain, range, shape, precision, before).memory;
}

/// A residual block is laid out as a stage of its own in the middle of a network; what is kept follows.
LayerFacts describe_residual(const LayerSizes& sizes) {
  const StageSetting setting{.shape = sizes.shape, .precision = sizes.precision};
  LayerSpec alone = sizes.spec;
  alone.input.clear();
  alone.from.clear();
  const Flow flow = open_chain(std::span(&alone, 1));
  StageLayout layout = LayoutBuilder(flow, setting).build(0, flow.nodes.size());
  LayerFacts facts;
  for (const LayoutStep& step : layout.steps) {
    for (auto [total, part] :
         {std::pair{&facts.forward, &step.facts.forward}, std::pair{&facts.input_grad, &step.facts.input_grad},
          std::pair{&facts.weight_grad, &step.facts.weight_grad}}) {
      total->flops += part->flops;
      total->bytes_moved += part->bytes_moved;
    }
  }
  for (const ValueMove& move : layout.forward_moves) {
    const std::int64_t moved = (move.adds ? 3 : 2) * move.bytes;  // two operands and the sum, or a value and its copy
    facts.forward.bytes_moved += moved;
    facts.input_grad.bytes_moved += moved;
  }
  facts.forward.workspace_bytes = layout.memory.workspace_f_bytes;
  facts.input_grad.workspace_bytes = layout.memory.workspace_i_bytes;
  facts.weight_grad.workspace_bytes = layout.memory.workspace_w_bytes;
  facts.input_last_use = layout.memory.input_last_use;
  facts.input_bytes = layout.memory.input_bytes;
  facts.output_bytes = layout.memory.output_bytes;
  facts.parameters = std::move(layout.parameters);
  facts.parameters.insert(facts.parameters.end(), layout.frozen.begin(), layout.frozen.end());
  facts.stash = std::move(layout.memory.stash);
  if (!layout.copied_grads.empty()) {
    facts.output_grad_last_use = LastUse::kWeightGrad;
    std::erase_if(facts.stash, [&](const StashTensor& tensor) {
      return std::ranges::any_of(layout.steps, [&](const LayoutStep& step) {
        return step.output == layout.copied_grads.front() && tensor.name == step.spec.name + ".output_grad";
      });
    });
  }
  return facts;
}

}  // namespace plumb
