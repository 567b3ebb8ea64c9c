#include "models/stages/stage_reversal.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "models/network/flow.hpp"
#include "models/stages/stage_tensors.hpp"

namespace plumb {
namespace {

/// Gives the tensors of a reversing stage their places in B and I (and W). Time 0 of those passes is the reversal.
class ReversalPlacer {
 public:
  ReversalPlacer(const StageFlow& stage, StageLayout& layout, WorkspacePlan& input_grad, WorkspacePlan& backward)
      : stage_(stage), layout_(layout), input_grad_(input_grad), backward_(backward) {}

  void place() {
    find_blocks();
    for (ReversedBlock& block : layout_.reversed) place(block);
    for (std::size_t value = 0; value < stage_.values.size(); ++value) place_value(value);
    for (std::size_t k = 0; k < layout_.steps.size(); ++k) {
      for (std::size_t t = 0; t < layout_.steps[k].stash.size(); ++t) place_stash(k, t);
    }
  }

 private:
  std::size_t backward_step(std::size_t k) const { return layout_.steps.size() - 1 - k; }

  /// Every addition ends one; the backward begins with the last.
  void find_blocks() {
    std::size_t begin = 0;
    for (const StageSum& sum : stage_.sums) {
      if (!sum.adds) continue;
      layout_.reversed.push_back({begin, sum.at, sum.to, sum.from, {}, std::vector<TensorPlaces>(sum.at - begin)});
      begin = sum.at;
    }
    std::ranges::reverse(layout_.reversed);
  }

  void scratch(TensorPlaces& places, std::int64_t bytes) {
    input_grad_.add(places.i, bytes, 0, 0);
    backward_.add(places.b, bytes, 0, 0);
  }

  void place(ReversedBlock& block) {
    scratch(block.again, layout_.value_bytes[block.made]);
    for (std::size_t k = block.begin; k < block.end; ++k) {
      scratch(block.workspaces[k - block.begin], layout_.steps[k].facts.forward.workspace_bytes);
    }
  }

  /// Places a tensor from the reversal until the backward of step `k`, or its W.
  void place_until(TensorPlaces& places, StashTensor tensor, std::size_t k) {
    backward_.add(places.b, tensor.bytes, 0, backward_step(k));
    if (tensor.last_use == LastUse::kWeightGrad) {
      tensor.made_by = StashTensor::MadeBy::kInputGrad;
      places.i = places.w = keep_tensor(layout_, std::move(tensor));
    } else {
      input_grad_.add(places.i, tensor.bytes, 0, backward_step(k));
    }
  }

  void place_value(std::size_t number) {
    const StageValue& value = stage_.values[number];
    const std::int64_t bytes = layout_.value_bytes[number];
    if (bytes == 0 || value.is_output) return;
    TensorPlaces& places = layout_.values[number];
    if (value.steps.empty()) return scratch(places, bytes);
    const std::size_t reader = value.steps.front();
    const LayoutStep& step = layout_.steps[reader];
    place_until(places, {step.spec.name + ".input", bytes, {}, step.facts.input_last_use}, reader);
  }

  void place_stash(std::size_t k, std::size_t t) {
    const StashTensor& tensor = layout_.steps[k].facts.stash[t];
    if (tensor.made_by == StashTensor::MadeBy::kForward) place_until(layout_.steps[k].stash[t], tensor, k);
  }

  const StageFlow& stage_;
  StageLayout& layout_;
  WorkspacePlan& input_grad_;
  WorkspacePlan& backward_;
};

TensorPlaces in_backward(const TensorPlaces& places) { return {.i = places.i, .b = places.b}; }

}  // namespace

bool is_coupled(std::span<const LayerSpec> chain, std::size_t k) {
  const LayerSpec& layer = chain[k];
  return layer.kind == LayerKind::kResidual && k >= 2 && layer.from == chain[k - 2].name && layer.input.empty() &&
         std::ranges::none_of(layer.body, [](const LayerSpec& inner) { return inner.kind == LayerKind::kResidual; });
}

bool can_reverse(std::span<const LayerSpec> chain, LayerRange range, const MicrobatchShape& shape) {
  if (shape.before > 0 || shape.after > 0 || range.begin >= range.end) return false;
  for (std::size_t k = range.begin; k < range.end; ++k) {
    if (!is_coupled(chain, k)) return false;
  }
  const Flow flow = open_chain(chain);
  const StageFlow stage = stage_flow(flow, flow.begin[range.begin], flow.begin[range.end], range.end == chain.size());
  return stage.inputs == 2 && stage.outputs.size() == 2;
}

void place_reversal(const StageFlow& stage, StageLayout& layout, WorkspacePlan& input_grad, WorkspacePlan& backward) {
  ReversalPlacer(stage, layout, input_grad, backward).place();
}

void take_outputs(const StageFlow& stage, StageLayout& layout, std::span<const TensorPlace> places) {
  for (const std::size_t output : stage.outputs) {
    const TensorPlaces received{.i = places[output], .b = places[output]};
    if (stage.values[output].origin != StageValue::Origin::kCarried) {
      layout.values[output].i = received.i;
      layout.values[output].b = received.b;
      continue;
    }
    const auto copy = std::ranges::find(stage.sums, output, &StageSum::to);
    layout.taken.push_back({0, in_backward(layout.values[copy->from]), received, layout.value_bytes[output], false});
  }
}

void return_inputs(const StageFlow& stage, StageLayout& layout, std::span<const TensorPlace> places) {
  for (std::size_t input = 0; input < stage.inputs; ++input) {
    layout.returned.push_back({0,
                               {.i = places[input], .b = places[input]},
                               in_backward(layout.values[input]),
                               layout.value_bytes[input],
                               false});
  }
}

}  // namespace plumb
