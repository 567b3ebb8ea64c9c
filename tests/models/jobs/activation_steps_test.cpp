// What every operation of a layer keeps and needs while it runs, worked out by hand for 512 tokens of 16 bits.
#include "models/jobs/activation_steps.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/small_job_layers.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {

using namespace testing;

namespace {

std::vector<ActivationStep> steps_of_layer(const LayerSpec& layer, Parallelism job) {
  job.dropout = job.dropout.value_or(false);
  return activation_steps(layer, shape_of_two(job));
}

/// kept for I, kept for W, made by I for W; alive in F, I and W.
struct StepBytes {
  KeptBytes kept;
  std::int64_t forward = 0;
  std::int64_t input_grad = 0;
  std::int64_t weight_grad = 0;
};

void check_step(const std::vector<ActivationStep>& steps, const std::string& name, const StepBytes& expected) {
  CAPTURE(name);
  const auto found = std::ranges::find(steps, name, &ActivationStep::name);
  REQUIRE(found != steps.end());
  CHECK(found->kept.for_input_grad == expected.kept.for_input_grad);
  CHECK(found->kept.for_weight_grad == expected.kept.for_weight_grad);
  CHECK(found->kept.made_by_input_grad == expected.kept.made_by_input_grad);
  CHECK(found->forward == expected.forward);
  CHECK(found->input_grad == expected.input_grad);
  CHECK(found->weight_grad == expected.weight_grad);
}

constexpr Parallelism kNoGradients{.weight_gradients = WeightGradients::kAdded};

}  // namespace

TEST_CASE("products of attention keep what they read, and hold what they make until the next operation keeps it") {
  const LayerSpec layer{.kind = LayerKind::kAttention, .name = "a", .width = 64, .heads = 4, .kv_heads = 2};
  const std::vector<ActivationStep> steps = steps_of_layer(layer, kNoGradients);
  check_step(steps, "attention.input",
             {{0, bytes_of(64), bytes_of(128)}, bytes_of(128), bytes_of(128) + bytes_of(64), 0});
  const std::int64_t statistics = 4 * kRowsOfTwo * 4;  // a number of 32 bits for each head
  check_step(steps, "attention.qkv",
             {{bytes_of(128) + statistics, 0, 0},
              bytes_of(64),
              bytes_of(128) + bytes_of(64) + 4 * kRowsOfTwo * 64 + statistics,
              0});
  check_step(steps, "attention.attended", {{0, bytes_of(64), bytes_of(64)}, bytes_of(64), 2 * bytes_of(64), 0});
}

TEST_CASE("tensor ranks that share the sequence gather it for a product, and hold a whole sum before they scatter it") {
  const LayerSpec layer{.kind = LayerKind::kMlp, .name = "m", .width = 64, .hidden = 96, .gated = true};
  Parallelism job = kNoGradients;
  job.tensor = 2;
  job.sequence_parallel = true;
  const std::vector<ActivationStep> steps = steps_of_layer(layer, job);
  const std::int64_t own = bytes_of(32);  // half of the tokens
  check_step(steps, "mlp.input",
             {{0, own, bytes_of(96)}, bytes_of(64) + bytes_of(96), bytes_of(96) + bytes_of(64) + own, bytes_of(64)});
  check_step(steps, "mlp.hidden", {{bytes_of(96), 0, 0}, bytes_of(48), bytes_of(96) + bytes_of(48), 0});
  check_step(steps, "mlp.activated",
             {{0, bytes_of(48), own}, bytes_of(64) + own, own + bytes_of(64) + bytes_of(48), 0});
  job.sequence_parallel = false;
  check_step(steps_of_layer(layer, job), "mlp.input",
             {{0, bytes_of(64), bytes_of(96)}, bytes_of(96), bytes_of(96) + bytes_of(64), 0});
}

TEST_CASE("gradients of weights that are passed on are alive in W, one for every copy of a product") {
  const LayerSpec mlp{.kind = LayerKind::kMlp, .name = "m", .width = 64, .hidden = 96};
  for (const WeightGradients how : {WeightGradients::kPassed, WeightGradients::kSummed}) {
    const std::vector<ActivationStep> steps = steps_of_layer(mlp, {.weight_gradients = how});
    CHECK(steps[0].weight_grad == 2 * 64 * 96);
    CHECK(steps[2].weight_grad == 2 * 64 * 96);
  }
  CHECK(steps_of_layer(mlp, {.weight_gradients = WeightGradients::kPlaceholders})[0].weight_grad == 0);
  // The head is no product of the library, whose placeholders it does not share.
  const LayerSpec head{.kind = LayerKind::kHead, .name = "h", .width = 64, .vocabulary = 1000};
  CHECK(steps_of_layer(head, {.weight_gradients = WeightGradients::kPlaceholders})[0].weight_grad == 2 * 64 * 1000);
  CHECK_FALSE(steps_of_layer(head, {})[0].product);
}

TEST_CASE("latent attention keeps its latents twice, and makes queries, keys and values again where it is told to") {
  const LayerSpec layer = four_latent_heads();
  std::vector<ActivationStep> steps = steps_of_layer(layer, kNoGradients);
  // 12 + 20 + 8 latent columns; 4 * 24 of queries and of keys, 40 of values.
  check_step(steps, "attention.input", {{0, bytes_of(64), bytes_of(40)}, bytes_of(40), bytes_of(40) + bytes_of(64), 0});
  check_step(steps, "attention.latent_norm", {{bytes_of(40), 0, 0}, 0, 2 * bytes_of(40), 0});
  check_step(steps, "attention.latents",
             {{0, bytes_of(40), bytes_of(232)}, bytes_of(232), bytes_of(40) + bytes_of(232), 0});
  const std::int64_t statistics = 4 * kRowsOfTwo * 4;
  const std::int64_t sums = 4 * kRowsOfTwo * 40 + statistics;
  check_step(steps, "attention.qkv",
             {{bytes_of(232) + statistics, 0, 0}, bytes_of(40), bytes_of(232) + bytes_of(40) + sums, 0});
  check_step(steps, "attention.attended",
             {{0, bytes_of(40), bytes_of(64)}, bytes_of(64), bytes_of(64) + bytes_of(40), 0});
  Parallelism again = kNoGradients;
  again.modules.add(RecomputeModule::kMlaUpProj);
  steps = steps_of_layer(layer, again);
  check_step(steps, "attention.qkv", {{statistics, 0, 0}, bytes_of(40), 2 * bytes_of(232) + bytes_of(40) + sums, 0});
}

TEST_CASE("a softmax that is not fused keeps its output, with dropout its mask and result, too") {
  const LayerSpec layer{.kind = LayerKind::kAttention, .name = "a", .width = 64, .heads = 4};
  Parallelism job = kNoGradients;
  job.flash_attention = false;
  const std::int64_t scores = 2 * 4 * 256 * 256;
  std::vector<ActivationStep> steps = steps_of_layer(layer, job);
  check_step(steps, "attention.qkv",
             {{bytes_of(192), 0, 0}, bytes_of(64) + 2 * scores, bytes_of(192) + bytes_of(64) + 2 * scores, 0});
  check_step(steps, "attention.scores", {{2 * scores, 0, 0}, 0, 4 * scores + bytes_of(64), 0});
  job.dropout = true;
  check_step(steps_of_layer(layer, job), "attention.scores", {{5 * scores, 0, 0}, 0, 4 * scores + bytes_of(64), 0});
  job.recompute = ActivationRecompute::kSelective;
  steps = steps_of_layer(layer, job);
  check_step(steps, "attention.qkv",
             {{bytes_of(192), 0, 0},
              bytes_of(64) + 2 * scores + 5 * scores,
              bytes_of(192) + bytes_of(64) + 2 * scores + 2 * scores + 5 * scores,
              0});
  // Dropout of the output: a byte for each number.
  check_step(steps, "dropout.mask", {{bytes_of(64) / 2, 0, 0}, bytes_of(64), 2 * bytes_of(64), 0});
}

TEST_CASE("a layer of experts keeps what every copy of a token reads, and their outputs for the weighted sum") {
  LayerSpec layer = eight_experts();
  layer.shared_experts = 1;
  layer.gated = true;
  Parallelism job{.expert = 4, .data = 4};
  std::vector<ActivationStep> steps = steps_of_layer(layer, job);
  check_step(steps, "moe.router", {{4 * kRowsOfTwo * 8, bytes_of(16), 0}, 0, 2 * bytes_of(16), 0});
  check_step(steps, "moe.shared_hidden", {{bytes_of(64), 0, 0}, bytes_of(32), bytes_of(96), 0});
  check_step(steps, "moe.shared_activated", {{0, bytes_of(32), bytes_of(64)}, 0, bytes_of(96), 0});
  // 1024 copies, two experts here.
  check_step(steps, "moe.dispatched",
             {{0, bytes_of(32), bytes_of(128)}, bytes_of(128), bytes_of(32) + bytes_of(128), 2 * 2 * 16 * 64});
  check_step(steps, "moe.hidden", {{bytes_of(128), 0, 0}, bytes_of(64), bytes_of(192), 0});
  check_step(steps, "moe.activated",
             {{0, bytes_of(64), bytes_of(32)}, bytes_of(32), bytes_of(64) + bytes_of(32), 2 * 2 * 32 * 16});
  check_step(steps, "moe.outputs",
             {{bytes_of(32), 0, 0}, bytes_of(32) + bytes_of(16), 2 * bytes_of(32) + bytes_of(16), 0});
  job.modules.add(RecomputeModule::kActivation);
  job.modules.add(RecomputeModule::kNorm);
  steps = steps_of_layer(layer, job);
  // What is made again is alive in W instead of kept.
  check_step(steps, "moe.router", {{4 * kRowsOfTwo * 8, 0, 0}, 0, 2 * bytes_of(16), bytes_of(16)});
  check_step(steps, "moe.shared_activated", {{0, 0, bytes_of(64)}, 0, bytes_of(96), bytes_of(32)});
  check_step(steps, "moe.activated",
             {{0, 0, bytes_of(32)}, bytes_of(32), bytes_of(96), 2 * 2 * 32 * 16 + bytes_of(64)});
  layer.latent_width = 4;
  steps = steps_of_layer(layer, {.expert = 8, .data = 8});  // one expert
  check_step(steps, "moe.dispatched", {{0, bytes_of(8), bytes_of(128)}, bytes_of(128), bytes_of(136), 2 * 4 * 64});
}

TEST_CASE("a table keeps ids of eight bytes, and makes the gradient of all its rows where products do not add it") {
  const LayerSpec layer{.kind = LayerKind::kEmbedding, .name = "e", .width = 64, .vocabulary = 1000, .positions = 256};
  check_step(activation_steps(layer, shape_of_two(kNoGradients)), "embedding.tokens",
             {{bytes_of(64) / 2, 8 * kRowsOfTwo, 0}, 2 * bytes_of(64), 0, bytes_of(64)});
  Parallelism job{.tensor = 3};
  check_step(steps_of_layer(layer, job), "embedding.tokens",
             {{0, 8 * kRowsOfTwo, 0}, 2 * bytes_of(64), 0, bytes_of(64) + 2 * 334 * 64});
  job = kNoGradients;
  job.tensor = 2;
  job.sequence_parallel = true;
  check_step(steps_of_layer(layer, job), "embedding.tokens",
             {{0, 8 * kRowsOfTwo, 0}, bytes_of(64) + bytes_of(32), 0, bytes_of(32) + bytes_of(64)});
}

TEST_CASE("logits are kept in 32 bits for the loss, or once in 16 where it writes over them") {
  const LayerSpec layer{.kind = LayerKind::kHead, .name = "h", .width = 64, .vocabulary = 1001};
  Parallelism job = kNoGradients;
  job.tensor = 2;
  check_step(steps_of_layer(layer, job), "head.loss", {{4 * kRowsOfTwo * 501, 0, 0}, bytes_of(501), bytes_of(501), 0});
  check_step(steps_of_layer(layer, job), "head.input",
             {{0, bytes_of(64), bytes_of(501)}, bytes_of(501), bytes_of(501) + bytes_of(64), 0});
  job.fused_loss = true;
  check_step(steps_of_layer(layer, job), "head.logits", {{0, bytes_of(501), 0}, 0, 0, 0});
  job.fused_loss = false;
  job.loss_in_place = true;
  check_step(steps_of_layer(layer, job), "head.logits", {{0, bytes_of(501), 0}, 0, 0, 0});
}

TEST_CASE("the gradient around a residual is alive in every operation inside, and norms keep their input") {
  const LayerSpec norm{.kind = LayerKind::kRmsNorm, .name = "n", .width = 64};
  const LayerSpec block{.kind = LayerKind::kResidual, .name = "r", .width = 64, .body = {norm}};
  check_step(steps_of_layer(norm, kNoGradients), "norm.input",
             {{bytes_of(64), 0, 0}, bytes_of(64), 2 * bytes_of(64), 0});
  check_step(steps_of_layer(block, kNoGradients), "norm.input",
             {{bytes_of(64), 0, 0}, bytes_of(64), 3 * bytes_of(64), 0});
}

TEST_CASE("layers without operations of their own keep what their facts say") {
  const LayerSpec relu{.kind = LayerKind::kRelu, .name = "r", .width = 8};
  check_step(steps_of_layer(relu, kNoGradients), "kept", {{kRowsOfTwo, 0, 0}, 0, 0, 0});  // a bit for each number
  const LayerSpec linear{.kind = LayerKind::kLinear, .name = "l", .width = 8, .outputs = 4};
  check_step(steps_of_layer(linear, kNoGradients), "kept", {{0, bytes_of(8), 0}, 0, 0, 0});
  const LayerSpec pool{.kind = LayerKind::kBatchNorm, .name = "b", .height = 1, .columns = 1, .channels = 8};
  check_step(steps_of_layer(pool, kNoGradients), "kept", {{bytes_of(8) + 2 * 8 * 4, 0, 0}, 0, 0, 0});
}

TEST_CASE("in a format of fewer bits products keep one copy of what they read, with its scales") {
  const LayerSpec layer{.kind = LayerKind::kMlp, .name = "m", .width = 64, .hidden = 96};
  Parallelism job = kNoGradients;
  job.format = MatrixFormat::kFp8;
  std::vector<ActivationStep> steps = steps_of_layer(layer, job);
  CHECK(steps[0].kept.for_weight_grad == bytes_of(64) / 2);
  CHECK(steps[1].kept.for_input_grad == bytes_of(96));
  CHECK(steps[2].kept.for_weight_grad == bytes_of(96) / 2);
  job.format = MatrixFormat::kMxFp8;  // a byte for 32 numbers
  CHECK(steps_of_layer(layer, job)[0].kept.for_weight_grad == kRowsOfTwo * 64 * 33 / 32);
}

}  // namespace plumb

TEST_SUITE_END();
