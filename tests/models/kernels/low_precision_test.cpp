#include "models/kernels/low_precision.hpp"

#include <doctest/doctest.h>

#include "models/jobs/job_layers.hpp"
#include "models/kernels/kernel_rates.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {
namespace {

JobShape shape_of(Parallelism job) {
  Network network;
  network.sequence = 1024;
  network.samples = 1;
  return {network, job};
}

double cast_bytes(MatrixFormat format) {
  PassKernels pass;
  add_cast(pass, format, {.numbers = 1000});
  double bytes = 0;
  for (const Kernel& kernel : pass.list) {
    CHECK(kernel.movement == Movement::kCast);
    bytes += kernel.bytes;
  }
  return bytes;
}

}  // namespace

TEST_CASE("a cast reads 16-bit numbers, twice where their largest is looked for, and writes two copies") {
  CHECK(cast_bytes(MatrixFormat::kBf16) == 0);
  CHECK(cast_bytes(MatrixFormat::kFp8) == doctest::Approx(1000 * (2 + 2 * 1)));
  CHECK(cast_bytes(MatrixFormat::kFp8Current) == doctest::Approx(1000 * (2 + 2 + 2 * 1)));
  CHECK(cast_bytes(MatrixFormat::kFp8Block) == doctest::Approx(1000 * (2 + 2 * (1 + 4.0 / 128))));
  CHECK(cast_bytes(MatrixFormat::kMxFp8) == doctest::Approx(1000 * (2 + 2 * (1 + 1.0 / 32))));
  CHECK(cast_bytes(MatrixFormat::kNvFp4) == doctest::Approx(1000 * (2 + 2 + 2 * (0.5 + 1.0 / 16))));
}

TEST_CASE("where products read operands by rows or by columns, one scale per tensor needs one copy") {
  const auto bytes_of = [](MatrixFormat format) {
    PassKernels pass;
    add_cast(pass, format, {.numbers = 1000, .any_layout = true});
    return pass.list.front().bytes;
  };
  CHECK(bytes_of(MatrixFormat::kFp8) == doctest::Approx(1000 * (2 + 1)));
  CHECK(bytes_of(MatrixFormat::kFp8Current) == doctest::Approx(1000 * (2 + 2 + 1)));
  CHECK(bytes_of(MatrixFormat::kMxFp8) == doctest::Approx(1000 * (2 + 2 * (1 + 1.0 / 32))));  // scales along a side
}

TEST_CASE("norms and activations find the largest number as they write, or write blocks with their scales at once") {
  const auto of = [](MatrixFormat format) {
    PassKernels pass;
    add_cast(pass, format, {.numbers = 1000, .made_for_it = true});
    return pass.list;
  };
  CHECK(of(MatrixFormat::kMxFp8).empty());
  const auto current = of(MatrixFormat::kFp8Current);
  REQUIRE(current.size() == 1);
  CHECK(current.front().bytes == doctest::Approx(1000 * (2 + 2 * 1)));  // no second reading
  CHECK(current.front().launches == 2);                                 // the scale, the cast
}

TEST_CASE("the tensors of experts are cast by one call, which starts a kernel for each in an eighth of the time") {
  PassKernels pass;
  add_cast(pass, MatrixFormat::kMxFp8, {.numbers = 1000, .copies = 16});
  REQUIRE(pass.list.size() == 2);
  CHECK(pass.list.front().launches == 16 / 8 + 1);  // and one that orders all scales
  CHECK(pass.list.back().launches == 0);
  CHECK(pass.list.back().seconds == doctest::Approx(14 * 3e-6));  // on the device it is a kernel for each
}

TEST_CASE("with sequence parallelism, what is gathered is cast by the rank that holds it") {
  const auto cast_numbers = [](Divided divided, bool forward) {
    LayerKernels kernels;
    Parallelism job{.tensor = 4, .sequence_parallel = true};
    job.format = MatrixFormat::kMxFp8;
    add_linear(kernels, shape_of(job), {.tokens = 1024, .inputs = 64, .outputs = 32, .divided = divided});
    const Kernel& first = (forward ? kernels.forward : kernels.input_grad).list.front();
    REQUIRE(first.movement == Movement::kCast);
    return first.bytes / (2 + 2 * (1 + 1.0 / 32));
  };
  CHECK(cast_numbers(Divided::kOutputs, true) == doctest::Approx(1024 * 64 / 4));
  CHECK(cast_numbers(Divided::kInputs, true) == doctest::Approx(1024 * 64));
  CHECK(cast_numbers(Divided::kOutputs, false) == doctest::Approx(1024 * 32));
  CHECK(cast_numbers(Divided::kInputs, false) == doctest::Approx(1024 * 32 / 4));
}

TEST_CASE("a scale per tensor of its own is reduced over the ranks that share the tensor") {
  const auto reductions = [](MatrixFormat format) {
    PassKernels pass;
    add_cast(pass, format, {.numbers = 1000, .shared = true});
    int count = 0;
    for (const Kernel& kernel : pass.list) {
      if (kernel.kind != Kernel::Kind::kCollective) continue;
      CHECK(kernel.op == CollectiveOp::kAllReduce);
      CHECK(kernel.bytes == 4);
      ++count;
    }
    return count;
  };
  CHECK(reductions(MatrixFormat::kFp8) == 0);
  CHECK(reductions(MatrixFormat::kFp8Current) == 1);
  CHECK(reductions(MatrixFormat::kMxFp8) == 0);
  CHECK(reductions(MatrixFormat::kNvFp4) == 1);
}

TEST_CASE("a product in 8 bits takes half the time of one in 16 at twice the peak, with its casts beside it") {
  DeviceSpec device;
  device.flops_per_s = 1e12;
  device.memory_bytes_per_s = 1e12;
  KernelRates rates;
  rates.gemm_efficiency = 1;
  rates.multiprocessors = 1;
  rates.kernel_ns = 0;
  rates.set_memory_shares(1);
  rates.peaks = {1, 2, 2, 2, 2, 4};
  const auto forward_s = [&](MatrixFormat format) {
    LayerKernels kernels;
    Parallelism job;
    job.format = format;
    add_linear(kernels, shape_of(job), {1024, 4096, 4096});
    double sum = 0;
    for (const Kernel& kernel : kernels.forward.list) sum += kernel_time(kernel, device, rates).device_s;
    return sum;
  };
  const double product = 2.0 * 1024 * 4096 * 4096 / 1e12;
  const double numbers = 1024.0 * 4096;
  CHECK(forward_s(MatrixFormat::kBf16) == doctest::Approx(product));
  CHECK(forward_s(MatrixFormat::kFp8) == doctest::Approx(product / 2 + 4 * numbers / 1e12));
  CHECK(forward_s(MatrixFormat::kNvFp4) == doctest::Approx(product / 4 + (4 + 2 * (0.5 + 1.0 / 16)) * numbers / 1e12));
}

TEST_CASE("routers and heads stay in 16 bits, and weights are gathered in 8 where the recipe keeps them so") {
  LayerKernels kernels;
  Parallelism job;
  job.format = MatrixFormat::kMxFp8;
  add_linear(kernels, shape_of(job), {.tokens = 1024, .inputs = 64, .outputs = 64, .wide = true});
  CHECK(kernels.forward.list.size() == 1);
  CHECK(kernels.forward.list.front().product.format == MatrixFormat::kBf16);
  CHECK(job.gathered_weight_bytes() == doctest::Approx(1 + 1.0 / 32));
  job.format = MatrixFormat::kFp8Block;
  CHECK(job.gathered_weight_bytes() == 2);
}

TEST_CASE("adapters leave the weight's own gradient out and add products of their rank") {
  LayerKernels all;
  LayerKernels adapted;
  Parallelism job;
  add_linear(all, shape_of(job), {1024, 512, 256});
  job.adapter_rank = 8;
  add_linear(adapted, shape_of(job), {.tokens = 1024, .inputs = 512, .outputs = 256, .adapted = LoraTargets::kQkv});
  CHECK(all.weight_grad.flops() == 2.0 * 1024 * 512 * 256);
  CHECK(adapted.weight_grad.flops() == 2.0 * 1024 * 8 * (512 + 256));
  CHECK(adapted.forward.flops() == all.forward.flops() + 2.0 * 1024 * 8 * (512 + 256));
}

}  // namespace plumb

TEST_SUITE_END();
