// Where every tensor of the stages of small networks lies: a line for each network and number of stages in
// tests/golden/layouts.txt. Where a layout is changed on purpose, the lines say whose.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "models/import/load_network.hpp"
#include "models/stages/lay_out_stage.hpp"
#include "models/stages/partition.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/text_sum.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb::testing {
namespace {

class PlacesText {
 public:
  void add(std::int64_t number) { text_ += std::to_string(number) + " "; }
  void add(const TensorPlaces& places) {
    for (const TensorPlace& place : {places.f, places.i, places.w, places.b}) {
      add(static_cast<std::int64_t>(place.block));
      add(place.offset);
    }
  }
  void add(const std::vector<ValueMove>& moves) {
    for (const ValueMove& move : moves) {
      add(static_cast<std::int64_t>(move.at));
      add(move.to);
      add(move.from);
      add(move.bytes + (move.adds ? 1 : 0));
    }
    text_ += "\n";
  }
  void add(const BlockSize& size) {
    add(size.bytes);
    add(size.storage);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string places_of(const StageLayout& layout) {
  PlacesText out;
  for (const LayoutStep& step : layout.steps) {
    for (const TensorPlaces& places : step.stash) out.add(places);
    for (const TensorPlaces& places : {step.workspace, step.input_grad, step.from_grad}) out.add(places);
    for (const TensorPlace& place : {step.key_grads, step.keys})
      out.add(place.offset + 1000 * static_cast<std::int64_t>(place.block));
    for (const std::size_t value : {step.input, step.from, step.output}) out.add(static_cast<std::int64_t>(value));
  }
  for (const TensorPlaces& places : layout.values) out.add(places);
  for (const TensorPlaces& places : layout.gradients) out.add(places);
  for (const std::int64_t bytes : layout.value_bytes) out.add(bytes);
  for (const auto* moves : {&layout.forward_moves, &layout.backward_moves, &layout.taken, &layout.returned})
    out.add(*moves);
  for (const ReversedBlock& block : layout.reversed) {
    for (const std::size_t number : {block.begin, block.end, block.made, block.other})
      out.add(static_cast<std::int64_t>(number));
    out.add(block.again);
    for (const TensorPlaces& places : block.workspaces) out.add(places);
  }
  for (const std::size_t value : layout.copied_grads) out.add(static_cast<std::int64_t>(value));
  for (const BlockSize& size :
       {layout.kept_for_input_grad, layout.kept_for_weight_grad, layout.made_by_input_grad, layout.key_grads}) {
    out.add(size);
  }
  const StageMemory& memory = layout.memory;
  for (const std::int64_t bytes :
       {memory.weight_bytes, memory.input_bytes, memory.output_bytes, memory.output_grad_bytes, memory.input_grad_bytes,
        memory.workspace_f_bytes, memory.workspace_b_bytes, memory.workspace_i_bytes, memory.workspace_w_bytes,
        memory.key_grads_made_bytes, memory.key_grads_freed_bytes, static_cast<std::int64_t>(memory.input_last_use)}) {
    out.add(bytes);
  }
  return out.text();
}

std::string layouts_of(const Network& network, std::int32_t stages, const MicrobatchShape& shape) {
  try {
    const Partition partition = equal_partition(network, stages);
    std::string text;
    for (std::size_t stage = 0; stage < partition.num_stages(); ++stage) {
      text += places_of(
          stage_layout(network.layers, partition.range(stage), shape, kMixedPrecision, partition.before(stage)));
      text += places_of(plain_stage_layout(network.layers, partition.range(stage), shape, Precision{}));
    }
    return text;
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("tensors of small networks lie where they lay before, in stages of every size and in slices") {
  std::string text;
  for (const char* name :
       {"gpt-tiny", "gpt-tiny-tied", "gpt-mini", "llama-tiny", "transformer-tiny", "transformer-12-tiny",
        "resnet-20-tiny", "resnet-20-tiny-gn", "resnet-50-tiny", "revnet-tiny", "mixtral-8x7b", "nemotron-3-nano",
        "nemotron-3-super", "deepseek-v3", "gpt-oss-120b"}) {
    Network network = load_network(name);
    if (network.layers.size() > 60 && network.layers.front().kind == LayerKind::kEmbedding) {
      network.layers.erase(network.layers.begin() + 12, network.layers.end() - 3);
    }
    for (const std::int32_t stages : {1, 2, 3, 4, 7}) {
      TextSum sum;
      sum.add(layouts_of(network, stages, {2, network.sequence}));
      sum.add(layouts_of(network, stages, {1, 16, 16, 0}));
      sum.add(layouts_of(network, stages, {3, 16, 0, 16}));
      text += std::string(name) + " in " + std::to_string(stages) + ": " + sum.text() + "\n";
    }
  }
  CHECK(text == golden("layouts.txt", text));
}

}  // namespace plumb::testing

TEST_SUITE_END();
