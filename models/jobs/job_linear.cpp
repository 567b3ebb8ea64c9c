#include "models/jobs/job_layers.hpp"
#include "models/kernels/low_precision.hpp"

namespace plumb {
namespace {

double numbers(std::int64_t tokens, std::int64_t features, std::int64_t copies) {
  return static_cast<double>(tokens) * static_cast<double>(features) * static_cast<double>(copies);
}

/// y = x W + x A B with W fixed: A and B of `rank` are trained (LoRA, Hu et al. 2021).
void add_adapter(LayerKernels& kernels, const JobShape& shape, const Product& product) {
  const std::int64_t tokens = product.tokens;
  const std::int64_t inputs = product.inputs;
  const std::int64_t outputs = product.outputs;
  const std::int64_t copies = product.copies;
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
  const Parallelism& job = shape.parallelism;
  const MatrixFormat format = product.wide ? MatrixFormat::kBf16 : job.format;
  const bool own_cast = format_costs(format).scans;  // who makes a tensor cannot know its largest number in advance
  const bool shared = job.tensor > 1;
  ProductShape one{
      .m = product.tokens, .n = product.outputs, .k = product.inputs, .count = product.copies, .format = format};
  if (own_cast || !product.input_cast) {
    add_cast(kernels.forward, format, numbers(product.tokens, product.inputs, product.copies), shared);
  }
  kernels.forward.product(one);
  if (own_cast || !product.gradient_cast) {
    add_cast(kernels.input_grad, format, numbers(product.tokens, product.outputs, product.copies), shared);
  }
  one = {.m = product.tokens, .n = product.inputs, .k = product.outputs, .count = product.copies, .format = format};
  one.pass = ProductPass::kInputGrad;
  kernels.input_grad.product(one);
  if (job.adapter_rank > 0) {
    if (product.adapted) add_adapter(kernels, shape, product);
    return;
  }
  one = {.m = product.outputs, .n = product.inputs, .k = product.tokens, .count = product.copies, .format = format};
  one.pass = ProductPass::kWeightGrad;
  kernels.weight_grad.product(one, job.precision.gradient_bytes);
}

}  // namespace plumb
