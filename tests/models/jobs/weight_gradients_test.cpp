#include <doctest/doctest.h>

#include "models/import/load_network.hpp"
#include "models/jobs/job_kernels.hpp"
#include "models/jobs/job_shape.hpp"

TEST_SUITE_BEGIN("models");

using namespace plumb;

TEST_CASE("gradients that no product adds up take a kernel that does") {
  const Network network = load_network("gpt3-13b");
  const LayerSpec& block = network.layers[2];  // an MLP behind its norm
  const auto weights_of = [&](WeightGradients how) {
    Parallelism job;
    job.weight_gradients = how;
    return layer_kernels(block, JobShape(network, job)).weight_grad;
  };
  const PassKernels added = weights_of(WeightGradients::kPassed);
  const PassKernels summed = weights_of(WeightGradients::kSummed);
  double bytes = 0;
  for (const Kernel& kernel : summed.list) {
    if (kernel.kind == Kernel::Kind::kMemory) bytes += kernel.bytes;
    CHECK(kernel.product.accumulated == 0);
  }
  CHECK(summed.list.size() == added.list.size() + 2);
  CHECK(bytes == doctest::Approx(2 * 5120.0 * 4 * 5120 * (2 + 4 + 4 + 4 + 4)));  // widened, added
}

TEST_SUITE_END();
