#include "models/network/lora.hpp"

#include <doctest/doctest.h>

#include "models/import/load_network.hpp"
#include "models/layers/describe_layer.hpp"
#include "models/stages/lay_out_stage.hpp"
#include "models/stages/network_costs.hpp"
#include "models/stages/partition.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {
namespace {

StageMemory whole(const Network& network) {
  return stage_memory(network.layers, {0, network.layers.size()}, {1, network.sequence}, {});
}

}  // namespace

// "trainable params: 294,912 || all params: 124,734,720" is what PEFT's print_trainable_parameters() says of gpt2 with
// r=8 and target_modules=["c_attn"], in many public notebooks.
TEST_CASE("adapters of rank 8 beside c_attn of GPT-2 small are the parameters that PEFT counts") {
  const Network gpt2 = load_network("gpt2-small");
  const Network adapted = with_adapters(gpt2, {.rank = 8, .alpha = 16});
  const StageMemory memory = whole(adapted);
  CHECK(memory.updated_bytes() / 4 == 294'912);
  CHECK(memory.weight_bytes / 4 == 124'734'720);
  CHECK(memory.frozen_bytes == whole(gpt2).weight_bytes);
  CHECK(memory.gradient_bytes == memory.updated_bytes());
  CHECK(memory.optimizer_bytes == 2 * memory.updated_bytes());
  CHECK(parameter_count(adapted) == 124'734'720);
}

TEST_CASE("frozen layers have no weight gradient, adapters that of their own products") {
  const Network gpt2 = load_network("gpt2-small");
  const MicrobatchShape shape{1, 1024};
  const Network all = with_adapters(gpt2, {.rank = 8, .alpha = 16, .targets = LoraTargets::kAll});
  double forward = 0;
  double weight_grad = 0;
  for (std::size_t k = 0; k < gpt2.layers.size(); ++k) {
    const LayerFacts before = describe(gpt2.layers[k], shape, {});
    const LayerFacts after = describe(all.layers[k], shape, {});
    CHECK(after.forward.flops - before.forward.flops == doctest::Approx(after.weight_grad.flops));
    CHECK(after.input_grad.flops - before.input_grad.flops == doctest::Approx(after.weight_grad.flops));
    forward += after.forward.flops;
    weight_grad += after.weight_grad.flops;
  }
  // Of 12 blocks: rank 8 times inputs and outputs of 768 x 2304, 768 x 768 and 768 x 3072 twice; 2 FLOPs a number.
  CHECK(weight_grad == doctest::Approx(2.0 * 1024 * 12 * 8 * (3072 + 1536 + 2 * 3840)));
  CHECK(weight_grad < 0.02 * forward);
  const auto cut = equal_partition(all, 2);
  CHECK(tied_weights(gpt2, cut, {}).size() == 1);
  CHECK(tied_weights(all, cut, {}).empty());
}

}  // namespace plumb

TEST_SUITE_END();
