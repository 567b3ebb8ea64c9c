#include "models/jobs/job_layers.hpp"

#include <doctest/doctest.h>

#include "models/import/load_network.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {
namespace {

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

}  // namespace plumb

TEST_SUITE_END();
