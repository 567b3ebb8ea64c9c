#include "models/jobs/job_layers.hpp"
#include "models/kernels/low_precision.hpp"

namespace plumb {
namespace {

double numbers(std::int64_t tokens, std::int64_t features, std::int64_t copies) {
  return static_cast<double>(tokens) * static_cast<double>(features) * static_cast<double>(copies);
}

/// Returns the bytes that a gradient moves to its sum: read, and the sum read and written; where the sum is wider, the
/// gradient is copied to its width first (DeepSpeed's optimizer of bf16).
double summed_bytes(const JobShape& shape) {
  const std::int64_t made = shape.number_bytes();
  const std::int64_t sum = shape.parallelism.precision.gradient_bytes;
  const std::int64_t copied = sum == made ? 0 : 2 * sum;
  return static_cast<double>(made + copied + 2 * sum);
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
  const auto launches = static_cast<std::int32_t>(product.copies);
  const auto add = [&](PassKernels& pass, const ProductShape& one, std::int64_t accumulated_bytes = 0) {
    pass.product(one, accumulated_bytes);
    pass.list.back().launches = launches;
  };
  // What is gathered is cast before, by the rank that holds it.
  const bool gathers = job.sequence_parallel && job.tensor > 1;
  const auto cast = [&](PassKernels& pass, std::int64_t features, bool made_for_it, bool gathered) {
    const double all = numbers(product.tokens, features, product.copies);
    add_cast(pass, format,
             {.numbers = gathered ? all / static_cast<double>(job.tensor) : all,
              .copies = product.copies,
              .made_for_it = made_for_it,
              .shared = gathered,
              .any_layout = shape.any_layout});
  };
  ProductShape one{
      .m = product.tokens, .n = product.outputs, .k = product.inputs, .count = product.copies, .format = format};
  cast(kernels.forward, product.inputs, product.input_cast, gathers && product.divided == Divided::kOutputs);
  add(kernels.forward, one);
  cast(kernels.input_grad, product.outputs, product.gradient_cast, gathers && product.divided == Divided::kInputs);
  one = {.m = product.tokens, .n = product.inputs, .k = product.outputs, .count = product.copies, .format = format};
  one.pass = ProductPass::kInputGrad;
  one.odd_rows =
      product.exact && product.outputs % 2 != 0;  // both backward products read the gradient of what went out
  add(kernels.input_grad, one);
  if (job.adapter_rank > 0) {
    if (product.adapted && *product.adapted <= job.adapter_targets) add_adapter(kernels, shape, product);
    return;
  }
  one = {.m = product.outputs, .n = product.inputs, .k = product.tokens, .count = product.copies, .format = format};
  one.pass = ProductPass::kWeightGrad;
  one.odd_rows = product.exact && product.outputs % 2 != 0;
  const bool apart = job.weight_gradients == WeightGradients::kSummed;
  add(kernels.weight_grad, one, apart ? 0 : job.precision.gradient_bytes);
  if (!apart) return;
  kernels.weight_grad.memory(numbers(product.outputs, product.inputs, product.copies) * summed_bytes(shape), launches);
}

}  // namespace plumb
