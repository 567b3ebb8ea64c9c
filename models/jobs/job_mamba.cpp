#include "models/jobs/job_layers.hpp"
#include "models/network/layer_shape.hpp"

namespace plumb {
namespace {

constexpr double kStateBytes = 4;
/// Kernels of the scan: sums of steps, states of chunks, states handed on, scores, results; about twice as many back.
constexpr std::int32_t kScanLaunches = 5;

/// Bytes that the scan moves for one token: its operands and result, and the states that chunks hand on in 32 bits,
/// written and read.
double scan_bytes(const LayerSpec& layer, const JobShape& shape) {
  const std::int64_t operands = 2 * mamba_inner(layer) + 2 * layer.groups * layer.state + layer.heads;
  const double states =
      2 * kStateBytes * static_cast<double>(mamba_inner(layer) * layer.state) / static_cast<double>(kMambaChunk);
  return shape.bytes(1, operands) + states;
}

}  // namespace

/// Heads and groups are divided over tensor ranks; context ranks exchange tokens for heads before the scan and back
/// after it (Megatron's Mamba context parallelism). The scan is a fused kernel as attention is. The backward scans
/// twice: states again, then gradients.
LayerKernels mamba_kernels(const LayerSpec& layer, const JobShape& shape) {
  const std::int64_t tensor = shape.parallelism.tensor;
  const std::int64_t tokens = shape.tokens();
  const std::int64_t inner = mamba_inner(layer) / tensor;
  const std::int64_t projected = mamba_projected(layer) / tensor;
  const std::int64_t convolved = inner + 2 * layer.groups * layer.state / tensor;
  const auto each = static_cast<double>(tokens) / static_cast<double>(tensor);
  const double scan = each * scan_flops(layer);
  const double moved = each * scan_bytes(layer, shape);
  LayerKernels kernels;
  TensorBlock block(kernels, shape, layer.width);
  LayerKernels in;
  LayerKernels out;
  add_linear(in, shape,
             {.tokens = tokens,
              .inputs = layer.width,
              .outputs = projected,
              .input_cast = true,
              .divided = Divided::kOutputs});
  add_linear(
      out, shape,
      {.tokens = tokens, .inputs = inner, .outputs = layer.width, .input_cast = true, .divided = Divided::kInputs});
  const auto exchange = [&](PassKernels& pass, std::int64_t features) {
    if (shape.parallelism.context < 2) return;
    pass.collective(CollectiveOp::kAllToAll, GroupAxis::kContext, shape.bytes(tokens, features));
  };
  block.enter();
  kernels.forward.append(in.forward);
  exchange(kernels.forward, projected);
  kernels.forward.memory(2 * shape.bytes(tokens, convolved), 1);
  AttentionShape fused{.rows = tokens,
                       .columns = kMambaChunk,
                       .heads = layer.heads / tensor,
                       .key_width = layer.state,
                       .value_width = layer.head_width};
  kernels.forward.attention(fused, scan, moved, kScanLaunches);
  fused.pass = ProductPass::kInputGrad;
  kernels.forward.memory(3 * shape.bytes(tokens, inner), 1, Movement::kNorm);  // gate and norm
  exchange(kernels.forward, inner);
  kernels.forward.append(out.forward);
  block.leave();
  block.enter_backward();
  kernels.input_grad.append(out.input_grad);
  exchange(kernels.input_grad, inner);
  kernels.input_grad.memory(6 * shape.bytes(tokens, inner), 2, Movement::kNorm);
  kernels.input_grad.attention(fused, 3 * scan, 3 * moved, 2 * kScanLaunches);
  kernels.input_grad.memory(4 * shape.bytes(tokens, convolved), 2);
  exchange(kernels.input_grad, projected);
  kernels.input_grad.append(in.input_grad);
  block.leave_backward();
  kernels.weight_grad.append(out.weight_grad);
  kernels.weight_grad.append(in.weight_grad);
  return kernels;
}

}  // namespace plumb
