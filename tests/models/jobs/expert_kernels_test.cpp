// The kernels of layers with experts, worked out by hand for small sizes.
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/pass_sums.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {

using namespace testing;

TEST_CASE("a mixture of experts routes, permutes, exchanges, computes, and goes back the same way") {
  LayerSpec layer = eight_experts();
  layer.gated = true;
  const Parallelism job{.expert = 4, .data = 4};
  const LayerKernels kernels = kernels_of(layer, job);
  // 1024 copies of tokens for two experts: 512 each.
  const PassSums forward = sums_of(kernels.forward);
  CHECK(forward.products == Lines{"512 x 8 x 16", "512 x 64 x 16 * 2", "512 x 16 x 32 * 2"});
  CHECK(forward.collectives == Lines{"exchange 16384", "exchange 16384"});
  const double permuted = 2.0 * 1024 * 16;
  check_moved(forward, Movement::kPermute, 5 * permuted, 21 + 5);
  // The loss that balances experts reads scores of 8 experts; the activation reads 64 columns and writes 32.
  check_moved(forward, kPlain, 3 * row_bytes(8) + 2.0 * 1024 * (64 + 32), 5 + 1);
  const PassSums input_grad = sums_of(kernels.input_grad);
  check_moved(input_grad, Movement::kPermute, 5 * permuted, 3 + 6);
  check_moved(input_grad, kPlain, 5 * row_bytes(8) + 6 * row_bytes(16) + 3 * row_bytes(16) + 2.0 * 1024 * (2 * 64 + 32),
              5 + 4 + 1 + 1);
  const PassSums weight_grad = sums_of(kernels.weight_grad);
  CHECK(weight_grad.products == Lines{"8 x 16 x 512", "16 x 32 x 512 * 2", "64 x 16 x 512 * 2"});
  check_moved(weight_grad, kPlain, 0, 1);
  for (const Kernel& kernel : kernels.forward.list) {
    const bool router = kernel.kind == Kernel::Kind::kGemm && kernel.product.n == 8;
    if (router) CHECK_FALSE(kernel.routed);
    if (kernel.kind == Kernel::Kind::kExchange) CHECK(kernel.routed);
  }
  Parallelism once = job;
  once.dispatcher = Dispatcher::kOncePerNode;
  check_moved(sums_of(kernels_of(layer, once).forward), Movement::kPermute, 5 * permuted, 6 + 2);
  check_moved(sums_of(kernels_of(layer, once).input_grad), Movement::kPermute, 5 * permuted, 2 + 6);
  check_moved(sums_of(kernels_of(layer, {.data = 4}).forward), Movement::kPermute, 5 * permuted, 6 + 2);
  CHECK(sums_of(kernels_of(layer, {.data = 4}).forward).collectives.empty());
  Parallelism adapters = job;
  adapters.adapter_rank = 4;
  CHECK(sums_of(kernels_of(layer, adapters).weight_grad).moved.empty());
}

TEST_CASE(
    "tokens go to their experts in 8 bits with a scale for 128 of them where the job does so, and come back in 16") {
  const LayerSpec layer = eight_experts();
  const Parallelism job{.expert = 4, .data = 4, .overlap_experts = true, .low_precision_dispatch = true};
  const LayerKernels kernels = kernels_of(layer, job);
  CHECK(sums_of(kernels.forward).collectives == Lines{"exchange 8448 hidden", "exchange 16384 hidden"});
  CHECK(sums_of(kernels.input_grad).collectives == Lines{"exchange 16384 hidden", "exchange 16384 hidden"});
}

TEST_CASE("biases of experts move 28 bytes for a number forward and 40 back, by small operations for every expert") {
  LayerSpec layer = eight_experts();
  Parallelism job{.expert = 4, .data = 4};
  const auto more = [&](const PassKernels LayerKernels::*pass, Movement movement) {
    LayerSpec with = layer;
    with.bias = true;
    const auto bare = sums_of(kernels_of(layer, job).*pass).moved[movement];
    const auto full = sums_of(kernels_of(with, job).*pass).moved[movement];
    return std::pair(full.first - bare.first, full.second - bare.second);
  };
  using Difference = std::pair<double, std::int64_t>;
  // Two experts: 4 and 12 small operations, four in the time of another, and two for all.
  CHECK(more(&LayerKernels::forward, kPlain) == Difference{28.0 * 1024 * 16, 1 + 2});
  CHECK(more(&LayerKernels::input_grad, kPlain) == Difference{40.0 * 1024 * 16, 3 + 2});
  job.expert = job.data = 8;  // one expert: 2 and 6
  CHECK(more(&LayerKernels::forward, kPlain).second == 1 + 2);
  CHECK(more(&LayerKernels::input_grad, kPlain).second == 2 + 2 + 2);  // and two sums as behind any product
  job.format = MatrixFormat::kFp8;
  CHECK(more(&LayerKernels::input_grad, Movement::kCast) == Difference{0, 2});
  job.captured = CapturedGraphs::kAll;
  CHECK(more(&LayerKernels::forward, kPlain) == Difference{0, 0});
}

TEST_CASE("products of few bits take tokens in sixteens, so experts' tokens are filled up and cut back") {
  const LayerSpec layer = eight_experts();
  Parallelism job{.expert = 4, .data = 4, .format = MatrixFormat::kFp8};
  const double activation = 2.0 * 1024 * (32 + 32);
  const double filled = 2 * 2 * 2.0 * 1024 * 16;  // twice read and written
  check_moved(sums_of(kernels_of(layer, job).forward), kPlain, 3 * row_bytes(8) + activation + filled, 5 + 1 + 2 + 1);
  job.expert_capacity = 1;  // as many for each
  check_moved(sums_of(kernels_of(layer, job).forward), kPlain, 3 * row_bytes(8) + activation, 5 + 1);
  job.expert_capacity = 0;
  job.dispatcher = Dispatcher::kOncePerNode;
  check_moved(sums_of(kernels_of(layer, job).forward), kPlain, 3 * row_bytes(8) + activation, 5 + 1);
}

TEST_CASE("shared experts are an MLP for all tokens, and a latent width has a product there and one back") {
  LayerSpec layer = eight_experts();
  layer.shared_experts = 3;
  CHECK(sums_of(kernels_of(layer).forward).products ==
        Lines{"512 x 8 x 16", "128 x 32 x 16 * 8", "128 x 16 x 32 * 8", "512 x 96 x 16", "512 x 16 x 96"});
  layer.shared_experts = 0;
  layer.latent_width = 4;
  CHECK(sums_of(kernels_of(layer).forward).products ==
        Lines{"512 x 8 x 16", "512 x 4 x 16", "128 x 32 x 4 * 8", "128 x 4 x 32 * 8", "512 x 16 x 4"});
  layer.latent_width = 0;
  const Parallelism divided{.tensor = 2, .data = 2, .sequence_parallel = true};
  // Ranks that divide an expert gather the copies of both halves' tokens.
  CHECK(sums_of(kernels_of(layer, divided).forward).collectives == Lines{"all-gather 32768", "reduce-scatter 32768"});
  CHECK(sums_of(kernels_of(layer, {.tensor = 2}).forward).collectives == Lines{"all-reduce 16384"});
}

}  // namespace plumb

TEST_SUITE_END();
