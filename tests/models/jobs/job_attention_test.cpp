#include "models/jobs/job_layers.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {
namespace {

Network long_network() {
  Network network;
  network.sequence = 32768;
  network.samples = 1;
  LayerSpec attention;
  attention.kind = LayerKind::kAttention;
  attention.name = "a";
  attention.width = 8192;
  attention.heads = 64;
  attention.kv_heads = 8;
  network.layers = {attention};
  return network;
}

double softmax_bytes(const PassKernels& pass) {
  double bytes = 0;
  for (const Kernel& kernel : pass.list) {
    if (kernel.kind == Kernel::Kind::kMemory && kernel.movement == Movement::kSoftmax) bytes += kernel.bytes;
  }
  return bytes;
}

}  // namespace

TEST_CASE("the fused softmax reads what a causal mask leaves and writes all of the scores") {
  Network network;
  network.sequence = 1024;
  network.samples = 1;
  LayerSpec attention;
  attention.kind = LayerKind::kAttention;
  attention.width = 1024;
  attention.heads = 16;
  attention.causal = false;
  network.layers = {attention};
  const double scores = 16.0 * 1024 * 1024;
  const JobShape shape(network, {.flash_attention = false, .dropout = true});
  const LayerKernels whole = attention_kernels(attention, shape);
  CHECK(softmax_bytes(whole.forward) == doctest::Approx(scores * (2 + 2)));
  CHECK(softmax_bytes(whole.input_grad) == doctest::Approx(scores * (2 + 2 + 2 + 5)));  // and dropout
  attention.causal = true;
  const LayerKernels causal = attention_kernels(attention, shape);
  CHECK(softmax_bytes(causal.forward) == doctest::Approx(scores * (1 + 2)));
  CHECK(softmax_bytes(causal.input_grad) == doctest::Approx(scores * (1 + 1 + 2 + 5)));
  attention.window = 128;  // another kernel, which reads the mask
  CHECK(softmax_bytes(attention_kernels(attention, shape).forward) == doctest::Approx(scores * (2 + 2)));
}

TEST_CASE(
    "context ranks that exchange heads see whole sequences of fewer heads, and wait for four exchanges per pass") {
  const Network network = long_network();
  const LayerSpec& layer = network.layers.front();
  const LayerKernels ring = attention_kernels(layer, JobShape(network, {.context = 8}));
  const LayerKernels heads = attention_kernels(layer, JobShape(network, {.context = 8, .context_by_heads = true}));
  const auto attention_of = [](const PassKernels& pass) {
    return *std::ranges::find(pass.list, Kernel::Kind::kAttention, &Kernel::kind);
  };
  CHECK(attention_of(ring.forward).attention.rows == 4096);
  CHECK(attention_of(ring.forward).attention.heads == 64);
  CHECK(attention_of(heads.forward).attention.rows == 32768);
  CHECK(attention_of(heads.forward).attention.heads == 8);
  CHECK(attention_of(heads.forward).flops == doctest::Approx(attention_of(ring.forward).flops));
  for (const PassKernels* pass : {&heads.forward, &heads.input_grad}) {
    double bytes = 0;
    int exchanges = 0;
    for (const Kernel& kernel : pass->list) {
      if (kernel.kind != Kernel::Kind::kCollective) continue;
      CHECK(kernel.op == CollectiveOp::kAllToAll);
      CHECK_FALSE(kernel.hidden);
      bytes += kernel.bytes;
      ++exchanges;
    }
    CHECK(exchanges == 4);
    CHECK(bytes == doctest::Approx(4096.0 * 2 * (8192 + 2 * 1024 + 8192)));  // queries, keys, values; what comes out
  }
  CHECK_THROWS_WITH_AS(check_parallelism(network, {.context = 128, .context_by_heads = true}),
                       "cp 128 does not divide the 64 heads of a TP rank of layer 'a'", Error);
}

TEST_CASE("queries that share keys are copied from between them") {
  const Network network = long_network();
  LayerSpec layer = network.layers.front();
  const auto moved = [&] {
    double bytes = 0;
    for (const Kernel& kernel : attention_kernels(layer, JobShape(network, {})).forward.list) {
      if (kernel.kind == Kernel::Kind::kMemory) bytes += kernel.bytes;
    }
    return bytes;
  };
  layer.bias = layer.rotary = false;
  CHECK(moved() == doctest::Approx(32768.0 * 2 * 2 * (8192 + 2 * 1024)));
  layer.kv_heads = 64;
  CHECK(moved() == 0);
}

}  // namespace plumb

TEST_SUITE_END();
