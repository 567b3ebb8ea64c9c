// The kernels of every kind of layer in a job, worked out by hand for small sizes: products by their sizes, other
// kernels by what they move and how many of them the host starts, collectives by their bytes.
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/pass_sums.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {

using namespace testing;

namespace {

/// 4 heads of 16 columns, 2 of keys and of values: 128 columns of q | k | v.
LayerSpec grouped_attention() {
  return {.kind = LayerKind::kAttention, .name = "a", .width = 64, .heads = 4, .kv_heads = 2};
}

}  // namespace

TEST_CASE("attention over two tensor ranks: half of every product, biases, and a sum over the ranks") {
  LayerSpec layer = grouped_attention();
  layer.rotary = true;
  const LayerKernels kernels = kernels_of(layer, {.tensor = 2});
  const PassSums forward = sums_of(kernels.forward);
  CHECK(forward.products == Lines{"512 x 64 x 64", "512 x 64 x 32"});
  CHECK(forward.collectives == Lines{"all-reduce 65536"});
  // The bias added, the rotary embedding, and queries that share keys put apart: each reads and writes 64 columns.
  check_moved(forward, kPlain, 3 * 2 * row_bytes(64), 1 + 2 + 3);
  // 2 samples of 2 heads, the lower half of 256 x 256 scores, 16 columns of keys and 16 of values.
  CHECK(forward.attention_flops == 2.0 * 4 * 256 * 256 / 2 * 32);
  CHECK(forward.attention_bytes == row_bytes(2 * 4 * 16));
  CHECK(forward.attention_launches == 1);
  const PassSums input_grad = sums_of(kernels.input_grad);
  CHECK(input_grad.products == Lines{"512 x 32 x 64", "512 x 64 x 64"});
  CHECK(input_grad.collectives == Lines{"all-reduce 65536"});
  // Sums of both biases' gradients; rotary and apart as before.
  check_moved(input_grad, kPlain, 2 * row_bytes(64) + 2 * 2 * row_bytes(64), 2 + 2 + 1);
  CHECK(input_grad.attention_flops == 2.5 * forward.attention_flops);
  CHECK(input_grad.attention_bytes == 2 * forward.attention_bytes);
  CHECK(input_grad.attention_launches == 3);
  CHECK(sums_of(kernels.weight_grad).products == Lines{"64 x 32 x 512", "64 x 64 x 512"});
  CHECK(kernels.weight_grad.list.front().product.accumulated == 4);
}

TEST_CASE("queries with keys of their own are not put apart, and nothing is added without biases") {
  LayerSpec layer = grouped_attention();
  layer.kv_heads = 4;
  layer.bias = false;
  CHECK(sums_of(kernels_of(layer).forward).moved.empty());
  CHECK(sums_of(kernels_of(layer).input_grad).moved.empty());
  layer.kv_heads = 0;
  CHECK(sums_of(kernels_of(layer).forward).moved.empty());
  layer.head_norm = true;
  // Queries and keys have 64 columns each: read and written forward, four times that backward.
  check_moved(sums_of(kernels_of(layer).forward), Movement::kNorm, 2 * row_bytes(128), 2);
  check_moved(sums_of(kernels_of(layer).input_grad), Movement::kNorm, 4 * row_bytes(128), 4);
}

TEST_CASE("a window leaves a band of the scores below the diagonal, no mask all of them") {
  LayerSpec layer = grouped_attention();
  const auto flops = [&] { return sums_of(kernels_of(layer).forward).attention_flops; };
  const double all = 2.0 * 8 * 256 * 256 * 32;
  CHECK(flops() == all / 2);
  layer.window = 64;  // 192 rows see 64 columns, the first 64 half as many
  CHECK(flops() == all * (64.0 * 192 + 64 * 32) / (256 * 256));
  layer.window = 1;  // every row itself, half of a column
  CHECK(flops() == to_the_byte(all * (255 + 0.5) / (256 * 256)));
  layer.window = 1000;
  CHECK(flops() == all / 2);
  layer.causal = false;
  CHECK(flops() == all);
}

TEST_CASE("with sequence parallelism ranks gather before a block and scatter behind it, and gather again for weights") {
  Parallelism job{.tensor = 2, .sequence_parallel = true};
  const LayerSpec layer{.kind = LayerKind::kMlp, .name = "m", .width = 64, .hidden = 96, .bias = false};
  LayerKernels kernels = kernels_of(layer, job);
  CHECK(sums_of(kernels.forward).collectives == Lines{"all-gather 65536", "reduce-scatter 65536"});
  CHECK(sums_of(kernels.input_grad).collectives == Lines{"all-gather 65536", "reduce-scatter 65536"});
  CHECK(sums_of(kernels.weight_grad).collectives == Lines{"all-gather 65536 hidden"});
  job.overlap_products = true;  // the second of two parts is exchanged beside the product of the first
  kernels = kernels_of(layer, job);
  CHECK(sums_of(kernels.forward).collectives ==
        Lines{"all-gather 32768", "all-gather 32768 hidden", "reduce-scatter 32768", "reduce-scatter 32768 hidden"});
  CHECK(sums_of(kernels.weight_grad).collectives == Lines{"all-gather 65536 hidden"});
  job = {.tensor = 4, .sequence_parallel = true, .overlap_products = true};
  CHECK(sums_of(kernels_of(layer, job).forward).collectives.front() == "all-gather 16384");
  job = {.tensor = 2, .overlap_tensor = true};
  CHECK(sums_of(kernels_of(layer, job).forward).collectives == Lines{"all-reduce 65536"});
  CHECK(sums_of(kernels_of(layer, job).input_grad).collectives == Lines{"all-reduce 65536 hidden"});
  job = {.tensor = 2, .sequence_parallel = true, .adapter_rank = 4};
  CHECK(sums_of(kernels_of(layer, job).weight_grad).collectives.empty());
}

TEST_CASE("an MLP reads what goes into its activation and writes what comes out, and both with the gradient") {
  LayerSpec layer{.kind = LayerKind::kMlp, .name = "m", .width = 64, .hidden = 96};
  LayerKernels kernels = kernels_of(layer);
  CHECK(sums_of(kernels.forward).products == Lines{"512 x 96 x 64", "512 x 64 x 96"});
  CHECK(sums_of(kernels.input_grad).products == Lines{"512 x 96 x 64", "512 x 64 x 96"});
  CHECK(sums_of(kernels.weight_grad).products == Lines{"64 x 96 x 512", "96 x 64 x 512"});
  check_moved(sums_of(kernels.forward), kPlain, row_bytes(96 + 96), 1);
  // Activation: its input, its output's gradient, its input's gradient; and sums of the gradients of both biases.
  check_moved(sums_of(kernels.input_grad), kPlain, row_bytes(3 * 96) + row_bytes(96) + row_bytes(64), 3);
  layer.gated = true;
  layer.bias = false;
  kernels = kernels_of(layer, {.tensor = 2, .modules = {}});
  CHECK(sums_of(kernels.forward).products == Lines{"512 x 96 x 64", "512 x 64 x 48"});
  check_moved(sums_of(kernels.forward), kPlain, row_bytes(96 + 48), 1);
  check_moved(sums_of(kernels.input_grad), kPlain, row_bytes(2 * 96 + 48), 1);
}

TEST_CASE("gradients that a kernel of its own sums are stored by the product, read, and added") {
  const LayerSpec layer{.kind = LayerKind::kMlp, .name = "m", .width = 64, .hidden = 96, .bias = false};
  Parallelism job{.weight_gradients = WeightGradients::kSummed};
  PassSums weight_grad = sums_of(kernels_of(layer, job).weight_grad);
  // 2 bytes read, copied to 4 bytes (written and read), added to a sum of 4 (read and written).
  check_moved(weight_grad, kPlain, 2.0 * 64 * 96 * (2 + 8 + 8), 2);
  CHECK(kernels_of(layer, job).weight_grad.list.front().product.accumulated == 0);
  job.precision.gradient_bytes = 2;
  check_moved(sums_of(kernels_of(layer, job).weight_grad), kPlain, 2.0 * 64 * 96 * (2 + 4), 2);
}

TEST_CASE("adapters are two thin products and a sum per pass, and weights have no product") {
  const LayerSpec layer{.kind = LayerKind::kMlp, .name = "m", .width = 64, .hidden = 96, .bias = false};
  Parallelism job{.adapter_rank = 8, .adapter_targets = LoraTargets::kAll};
  LayerKernels kernels = kernels_of(layer, job);
  CHECK(sums_of(kernels.forward).products ==
        Lines{"512 x 96 x 64", "512 x 8 x 64", "512 x 96 x 8", "512 x 64 x 96", "512 x 8 x 96", "512 x 64 x 8"});
  CHECK(sums_of(kernels.input_grad).products ==
        Lines{"512 x 96 x 64", "512 x 8 x 64", "512 x 96 x 8", "512 x 64 x 96", "512 x 8 x 96", "512 x 64 x 8"});
  CHECK(sums_of(kernels.weight_grad).products == Lines{"64 x 8 x 512", "8 x 96 x 512", "96 x 8 x 512", "8 x 64 x 512"});
  check_moved(sums_of(kernels.forward), kPlain, row_bytes(96 + 96) + 3 * row_bytes(96 + 64), 3);
  job.adapter_targets = LoraTargets::kQkv;
  CHECK(sums_of(kernels_of(layer, job).forward).products.size() == 2);
  CHECK(sums_of(kernels_of(layer, job).weight_grad).products.empty());
}

TEST_CASE("a layer of Mamba-2 scans in the time of what its kernels read and write, forward and twice back") {
  // 4 heads of 8 features and 2 groups of 16 numbers over two tensor ranks: 66 columns of the first product, of which
  // 48 go through the convolution, and 16 features inside.
  const LayerSpec layer{.kind = LayerKind::kMamba,
                        .name = "m",
                        .width = 64,
                        .heads = 4,
                        .kernel = 4,
                        .groups = 2,
                        .state = 16,
                        .head_width = 8};
  const LayerKernels kernels = kernels_of(layer, {.tensor = 2});
  const PassSums forward = sums_of(kernels.forward);
  CHECK(forward.products == Lines{"512 x 66 x 64", "512 x 64 x 16"});
  CHECK(forward.collectives == Lines{"all-reduce 65536"});
  check_moved(forward, kPlain, 2 * row_bytes(48), 1);
  check_moved(forward, Movement::kNorm, 3 * row_bytes(16), 1);
  const double scan = 256.0 * (128 * 16 * 2 + 128 * 32 + 4 * 16 * 32);
  CHECK(forward.attention_flops == scan);
  // Of a token: 3 numbers of 16 bits inside and 4 of each group's state; a state of 12 bytes for 128 tokens; scores
  // of 8.
  CHECK(forward.attention_bytes ==
        to_the_byte(256 * 2.05 * (2 * (3 * 32 + 4 * 2 * 16) + 12 * 32 * 16 / 128.0 + 8 * 2 * 128)));
  CHECK(forward.attention_launches == 5);
  const PassSums input_grad = sums_of(kernels.input_grad);
  CHECK(input_grad.products == Lines{"512 x 16 x 64", "512 x 64 x 66"});
  CHECK(input_grad.attention_flops == 3 * scan);
  CHECK(input_grad.attention_bytes ==
        to_the_byte(256 * 5 * (2 * (11 * 32 + 14 * 2 * 16) + 34 * 32 * 16 / 128.0 + 32 * 2 * 128)));
  CHECK(input_grad.attention_launches == 22);
  check_moved(input_grad, Movement::kNorm, 6 * row_bytes(16), 2);
  check_moved(input_grad, kPlain, 5 * row_bytes(48), 3);
  CHECK(sums_of(kernels.weight_grad).products == Lines{"64 x 16 x 512", "66 x 64 x 512"});
  // Context ranks have half of the tokens, and exchange them for heads: 132 columns there, 32 back.
  const LayerKernels apart = kernels_of(layer, {.context = 2});
  CHECK(sums_of(apart.forward).collectives == Lines{"all-to-all 67584", "all-to-all 16384"});
  CHECK(sums_of(apart.input_grad).collectives == Lines{"all-to-all 16384", "all-to-all 67584"});
  CHECK(sums_of(kernels_of(layer).forward).collectives.empty());
}

TEST_CASE("latent attention norms its latents and puts keys together from two parts") {
  LayerSpec layer = four_latent_heads();
  const LayerKernels kernels = kernels_of(layer, {.tensor = 2});
  const PassSums forward = sums_of(kernels.forward);
  // Two heads of a rank: 2 * (16 + 8) columns of queries, 2 * (16 + 10) of keys and values, 20 of values.
  CHECK(forward.products == Lines{"512 x 12 x 64", "512 x 48 x 12", "512 x 52 x 20", "512 x 28 x 64", "512 x 64 x 20"});
  check_moved(forward, kPlain, 2 * row_bytes(12 + 28) + 2 * row_bytes(2 * 48), 6);
  CHECK(forward.attention_flops == 2.0 * 4 * 256 * 256 / 2 * (24 + 10));
  CHECK(forward.attention_bytes == row_bytes(2 * (2 * 24 + 2 * 10)));
  check_moved(sums_of(kernels.input_grad), kPlain, 1.5 * (2 * row_bytes(40) + 2 * row_bytes(96)), 8);
  CHECK(forward.collectives == Lines{"all-reduce 65536"});
  layer.query_rank = 0;
  CHECK(sums_of(kernels_of(layer).forward).products ==
        Lines{"512 x 96 x 64", "512 x 104 x 20", "512 x 28 x 64", "512 x 64 x 40"});
}

TEST_CASE("softmax of groups of other than four heads is nine kernels, forward and back") {
  LayerSpec layer{.kind = LayerKind::kAttention, .name = "a", .width = 64, .heads = 4, .causal = false, .bias = false};
  const Parallelism job{.flash_attention = false, .dropout = false};
  const double scores = 2.0 * 4 * 256 * 256;
  // Scores and what is left of them: 2 + 2 bytes, dropout of 5.
  check_moved(sums_of(kernels_of(layer, job).forward), Movement::kSoftmax, (4 + 5) * scores, 2);
  CHECK(sums_of(kernels_of(layer, job).forward).products ==
        Lines{"512 x 192 x 64", "256 x 256 x 16 * 8", "256 x 16 x 256 * 8", "512 x 64 x 64"});
  CHECK(sums_of(kernels_of(layer, job).input_grad).products == Lines{"512 x 64 x 64", "256 x 256 x 16 * 8",
                                                                     "256 x 16 x 256 * 8", "256 x 16 x 256 * 8",
                                                                     "256 x 16 x 256 * 8", "512 x 64 x 192"});
  check_moved(sums_of(kernels_of(layer, job).forward), kPlain, row_bytes(4 * 64), 3);
  check_moved(sums_of(kernels_of(layer, job).input_grad), kPlain, row_bytes(4 * 64), 4);
  layer.heads = 1;  // two samples of one head
  const double few = 2.0 * 256 * 256;
  check_moved(sums_of(kernels_of(layer, job).forward), Movement::kSoftmax, (4 + 5 + 28) * few, 2 + 9);
  check_moved(sums_of(kernels_of(layer, job).input_grad), Movement::kSoftmax, (4 + 2 + 5 + 28) * few, 2 + 9);
  Parallelism masked = job;
  masked.dropout = true;
  check_moved(sums_of(kernels_of(layer, masked).forward), Movement::kDropout, 5 * few, 1);
}

TEST_CASE("keys and values of context ranks pass by beside the kernels, of which the backward sends gradients back") {
  LayerSpec layer = grouped_attention();
  layer.bias = false;
  const LayerKernels kernels = kernels_of(layer, {.context = 2});
  // 64 columns of keys and values, of all tokens.
  CHECK(sums_of(kernels.forward).collectives == Lines{"all-gather 65536 hidden"});
  CHECK(sums_of(kernels.input_grad).collectives == Lines{"all-gather 65536 hidden", "reduce-scatter 65536 hidden"});
  const LayerKernels heads = kernels_of(layer, {.context = 2, .context_by_heads = true});
  // 256 tokens: queries, keys, values, results.
  CHECK(sums_of(heads.forward).collectives ==
        Lines{"all-to-all 32768", "all-to-all 16384", "all-to-all 16384", "all-to-all 32768"});
  CHECK(sums_of(heads.input_grad).collectives == sums_of(heads.forward).collectives);
  // Each is put in order before and after it: read and written twice.
  check_moved(sums_of(heads.forward), kPlain, 4.0 * (32768 + 16384 + 16384 + 32768) + row_bytes(128), 4 * 2 + 3);
}

TEST_CASE("a table reads a row for each token, and its gradient is made whole, added and read") {
  LayerSpec layer{.kind = LayerKind::kEmbedding, .name = "e", .width = 64, .vocabulary = 1000};
  PassSums forward = sums_of(kernels_of(layer).forward);
  check_moved(forward, kPlain, 2 * row_bytes(64), 3);
  CHECK(forward.collectives.empty());
  // Filled with zeros and read in 16 bits, added to a sum of 32.
  check_moved(sums_of(kernels_of(layer).weight_grad), kPlain, 3 * row_bytes(64) + 1000.0 * 64 * (2 + 2 + 8), 4 + 2);
  layer.positions = 256;
  check_moved(sums_of(kernels_of(layer).forward), kPlain, 5 * row_bytes(64), 3 + 2);
  const Parallelism three{.tensor = 3};
  CHECK(sums_of(kernels_of(layer, three).forward).collectives == Lines{"all-reduce 65536"});
  check_moved(sums_of(kernels_of(layer, three).weight_grad), kPlain, 3 * row_bytes(64) + 334.0 * 64 * 12, 6);
  const Parallelism scattered{.tensor = 2, .sequence_parallel = true};
  CHECK(sums_of(kernels_of(layer, scattered).forward).collectives == Lines{"reduce-scatter 65536"});
  CHECK(kernels_of(layer, {.adapter_rank = 1}).weight_grad.list.empty());
}

TEST_CASE("the loss moves 38 bytes for a logit forward and 14 back, or 6 and 4 in one kernel") {
  const LayerSpec layer{.kind = LayerKind::kHead, .name = "h", .width = 64, .vocabulary = 1002};
  const double logits = 512.0 * 501;
  Parallelism job{.tensor = 2};
  LayerKernels kernels = kernels_of(layer, job);
  CHECK(sums_of(kernels.forward).products == Lines{"512 x 501 x 64"});
  check_moved(sums_of(kernels.forward), Movement::kLoss, 38 * logits, 8);
  check_moved(sums_of(kernels.input_grad), Movement::kLoss, 14 * logits, 3);
  // Largest logit, that of the target and the sum, each in 32 bits for every token.
  CHECK(sums_of(kernels.forward).collectives == Lines{"all-reduce 2048", "all-reduce 2048", "all-reduce 2048"});
  CHECK(sums_of(kernels.input_grad).collectives == Lines{"all-reduce 65536"});
  CHECK_FALSE(kernels.weight_grad.list.front().product.odd_rows);
  job.fused_loss = true;
  job.padded_vocabulary = false;
  kernels = kernels_of(layer, job);
  check_moved(sums_of(kernels.forward), Movement::kLoss, 6 * logits, 2);
  check_moved(sums_of(kernels.input_grad), Movement::kLoss, 4 * logits, 1);
  CHECK(sums_of(kernels.forward).collectives == Lines{"all-reduce 2048"});
  CHECK(kernels.weight_grad.list.front().product.odd_rows);  // 501 numbers in a row
  CHECK(sums_of(kernels_of(layer, {.tensor = 4}).forward).products == Lines{"512 x 251 x 64"});
  CHECK(sums_of(kernels_of(layer, {.tensor = 4, .padded_vocabulary = false}).forward).products ==
        Lines{"512 x 250 x 64"});
  LayerSpec further = layer;
  further.kind = LayerKind::kFurtherToken;
  const LayerKernels again = kernels_of(further);
  CHECK(sums_of(again.forward).products == Lines{"512 x 64 x 128", "512 x 1002 x 64"});
  check_moved(sums_of(again.forward), Movement::kNorm, 4 * row_bytes(64), 2);
  check_moved(sums_of(again.forward), kPlain, 4 * row_bytes(64), 1);
  check_moved(sums_of(again.input_grad), Movement::kNorm, 8 * row_bytes(64), 4);
  check_moved(sums_of(again.input_grad), kPlain, 4 * row_bytes(64), 1);
}

TEST_CASE("a residual adds its branches with a mask where a layer inside has dropout, and norms read twice back") {
  const LayerSpec norm{.kind = LayerKind::kLayerNorm, .name = "n", .width = 64};
  LayerSpec mlp{.kind = LayerKind::kMlp, .name = "m", .width = 64, .hidden = 96, .bias = false};
  LayerSpec block{.kind = LayerKind::kResidual, .name = "r", .width = 64, .body = {norm, mlp}};
  PassSums forward = sums_of(kernels_of(block).forward);
  check_moved(forward, Movement::kNorm, 2 * row_bytes(64), 1);
  check_moved(forward, kPlain, row_bytes(96 + 96) + 3 * row_bytes(64), 1 + 1);
  PassSums input_grad = sums_of(kernels_of(block).input_grad);
  check_moved(input_grad, Movement::kNorm, 4 * row_bytes(64), 2);
  check_moved(input_grad, kPlain, row_bytes(3 * 96) + 3 * row_bytes(64), 1 + 1);
  block.body[1].bias = true;  // such layers have dropout: a byte for each number of 16 bits
  forward = sums_of(kernels_of(block).forward);
  check_moved(forward, Movement::kDropout, 3 * row_bytes(64) + row_bytes(64) / 2, 1);
  input_grad = sums_of(kernels_of(block).input_grad);
  check_moved(input_grad, kPlain, row_bytes(3 * 96) + row_bytes(96 + 64) + 3.5 * row_bytes(64), 1 + 2 + 2);
  check_moved(sums_of(kernels_of(block, {.tensor = 2, .sequence_parallel = true}).forward), Movement::kNorm,
              row_bytes(64), 1);
}

TEST_CASE("layers that tensor ranks do not divide are their FLOPs and bytes, and measured ones their times") {
  const LayerSpec relu{.kind = LayerKind::kRelu, .name = "r", .width = 8};
  const LayerKernels kernels = kernels_of(relu);
  REQUIRE(kernels.forward.list.size() == 1);
  CHECK(kernels.forward.list.front().kind == Kernel::Kind::kRoofline);
  CHECK(kernels.forward.list.front().bytes == 2 * row_bytes(8) + 512);  // and a bit for each number
  CHECK(kernels.weight_grad.list.empty());
  const LayerKernels measured = kernels_of({.kind = LayerKind::kProfiled,
                                            .name = "p",
                                            .profiled = {.f_ns = 1000, .i_ns = 2000, .w_ns = 3000, .output_bytes = 1}});
  CHECK(measured.forward.list.front().seconds == to_the_byte(1e-6));
  CHECK(measured.input_grad.list.front().seconds == to_the_byte(2e-6));
  CHECK(measured.weight_grad.list.front().seconds == to_the_byte(3e-6));
  CHECK(measured.forward.list.front().launches == 0);
}

}  // namespace plumb

TEST_SUITE_END();
