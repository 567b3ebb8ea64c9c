#include "models/jobs/job_layers.hpp"
#include "models/jobs/low_precision.hpp"

namespace plumb {
namespace {

double numbers(std::int64_t tokens, std::int64_t features, std::int64_t copies) {
  return static_cast<double>(tokens) * static_cast<double>(features) * static_cast<double>(copies);
}

/// y = x W + x A B with W fixed: A and B of `rank` are trained (LoRA, Hu et al. 2021).
void add_adapter(LayerKernels& kernels, const JobShape& shape, const Product& product) {
  const auto [tokens, inputs, outputs, copies, wide] = product;
  const std::int64_t rank = shape.parallelism.adapter_rank;
  const double made = shape.bytes(tokens * copies, outputs);
  const auto add = [&](PassKernels& pass, std::int64_t m, std::int64_t n, std::int64_t k, ProductPass of) {
    pass.product({.m = m, .n = n, .k = k, .count = copies, .pass = of});
  };
  add(kernels.forward, tokens, rank, inputs, ProductPass::kForward);
  add(kernels.forward, tokens, outputs, rank, ProductPass::kForward);
  kernels.forward.memory(3 * made);
  add(kernels.input_grad, tokens, rank, outputs, ProductPass::kInputGrad);
  add(kernels.input_grad, tokens, inputs, rank, ProductPass::kInputGrad);
  kernels.input_grad.memory(3 * shape.bytes(tokens * copies, inputs));
  add(kernels.weight_grad, outputs, rank, tokens, ProductPass::kWeightGrad);
  add(kernels.weight_grad, rank, inputs, tokens, ProductPass::kWeightGrad);
}

}  // namespace

void add_linear(LayerKernels& kernels, const JobShape& shape, const Product& product) {
  const auto [tokens, inputs, outputs, copies, wide] = product;
  const Parallelism& job = shape.parallelism;
  const MatrixFormat format = wide ? MatrixFormat::kBf16 : job.format;
  add_cast(kernels.forward, format, numbers(tokens, inputs, copies), job.tensor > 1);
  kernels.forward.product({.m = tokens, .n = outputs, .k = inputs, .count = copies, .format = format});
  add_cast(kernels.input_grad, format, numbers(tokens, outputs, copies), job.tensor > 1);
  kernels.input_grad.product(
      {.m = tokens, .n = inputs, .k = outputs, .count = copies, .pass = ProductPass::kInputGrad, .format = format});
  if (job.adapter_rank > 0) {
    if (!wide) add_adapter(kernels, shape, product);
    return;
  }
  kernels.weight_grad.product(
      {.m = outputs, .n = inputs, .k = tokens, .count = copies, .pass = ProductPass::kWeightGrad, .format = format},
      job.precision.gradient_bytes);
}

}  // namespace plumb
