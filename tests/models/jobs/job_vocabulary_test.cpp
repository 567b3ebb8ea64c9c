#include "models/jobs/job_layers.hpp"

#include <doctest/doctest.h>

#include "models/kernels/kernel_rates.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {
namespace {

LayerKernels kernels_of(std::int64_t vocabulary, const Parallelism& job) {
  LayerSpec head;
  head.kind = LayerKind::kHead;
  head.width = 2048;
  head.vocabulary = vocabulary;
  Network network;
  network.sequence = 1024;
  network.samples = 1;
  network.layers = {head};
  return head_kernels(head, JobShape(network, job));
}

const Kernel& product_of(const PassKernels& pass) {
  for (const Kernel& kernel : pass.list) {
    if (kernel.kind == Kernel::Kind::kGemm) return kernel;
  }
  return pass.list.front();
}

}  // namespace

TEST_CASE("a vocabulary that is not filled up slows the products that read its gradient where its rows are odd") {
  const LayerKernels odd = kernels_of(50257, {.padded_vocabulary = false});
  CHECK_FALSE(product_of(odd.forward).product.odd_rows);  // reads rows of the width
  CHECK(product_of(odd.input_grad).product.odd_rows);
  CHECK(product_of(odd.weight_grad).product.odd_rows);
  const LayerKernels padded = kernels_of(50257, {});
  CHECK_FALSE(product_of(padded.input_grad).product.odd_rows);
  const LayerKernels halves = kernels_of(50257, {.tensor = 2, .padded_vocabulary = false});
  CHECK(product_of(halves.forward).product.n == 25128);
  CHECK_FALSE(product_of(halves.input_grad).product.odd_rows);
  KernelRates rates;
  rates.gemm_efficiency = 0.8;
  ProductShape shape = product_of(odd.input_grad).product;
  const double slow = rates.gemm_share(shape);
  shape.odd_rows = false;
  CHECK(slow < 0.5 * rates.gemm_share(shape));
}

TEST_CASE("the gradient of a table is filled with zeros and added whole, however few tokens looked something up") {
  LayerSpec table;
  table.kind = LayerKind::kEmbedding;
  table.width = 3072;
  table.vocabulary = 256000;
  Network network;
  network.samples = 1;
  network.layers = {table};
  const auto moved = [&](std::int64_t tokens, const Parallelism& job) {
    network.sequence = tokens;
    double bytes = 0;
    for (const Kernel& kernel : embedding_kernels(table, JobShape(network, job)).weight_grad.list)
      bytes += kernel.bytes;
    return bytes;
  };
  const double table_numbers = 256000.0 * 3072;
  CHECK(moved(1, {}) == doctest::Approx(table_numbers * (2 + 2 + 4 + 4)).epsilon(1e-4));
  Parallelism half;
  half.precision.gradient_bytes = 2;
  CHECK(moved(1, half) == doctest::Approx(table_numbers * (2 + 2 + 2 + 2)).epsilon(1e-4));
  half.tensor = 8;
  CHECK(moved(1, half) == doctest::Approx(table_numbers).epsilon(1e-4));
  half.adapter_rank = 16;
  CHECK(moved(1, half) == 0);  // frozen
}

}  // namespace plumb

TEST_SUITE_END();
