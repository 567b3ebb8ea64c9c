#include <algorithm>

#include "models/jobs/job_layers.hpp"

namespace plumb {
namespace {

/// Two products with the activation between them, `copies` times for `tokens` tokens each.
struct MlpKernels {
  LayerKernels in;
  LayerKernels out;
  PassKernels activation;
  PassKernels activation_backward;

  MlpKernels(const LayerSpec& layer, const JobShape& shape, std::int64_t tokens, std::int64_t hidden,
             std::int64_t copies) {
    const std::int64_t inner = layer.gated ? 2 * hidden : hidden;
    add_linear(in, shape, {tokens, layer.width, inner, copies});
    add_linear(out, shape, {tokens, hidden, layer.width, copies});
    if (layer.bias && copies == 1) {
      add_bias(in, shape, tokens, inner, false);  // added with the activation
      add_bias(out, shape, shape.norm_tokens(), layer.width, false);
    }
    const double wide = shape.bytes(tokens * copies, inner);
    const double narrow = shape.bytes(tokens * copies, hidden);
    activation.memory(wide + narrow);
    activation_backward.memory(2 * wide + narrow);
  }

  void append_to(LayerKernels& kernels) const {
    kernels.forward.append(in.forward);
    kernels.forward.append(activation);
    kernels.forward.append(out.forward);
    kernels.input_grad.append(out.input_grad);
    kernels.input_grad.append(activation_backward);
    kernels.input_grad.append(in.input_grad);
    kernels.weight_grad.append(out.weight_grad);
    kernels.weight_grad.append(in.weight_grad);
  }
};

/// Tokens to their experts and back: one exchange before and one after them.
void add_exchange(PassKernels& pass, const JobShape& shape, double bytes) {
  if (shape.parallelism.expert > 1) pass.collective(CollectiveOp::kAllToAll, GroupAxis::kExpert, bytes);
}

}  // namespace

LayerKernels mlp_kernels(const LayerSpec& layer, const JobShape& shape) {
  LayerKernels kernels;
  TensorBlock block(kernels, shape, layer.width);
  block.enter();
  block.enter_backward();
  MlpKernels(layer, shape, shape.tokens(), layer.hidden / shape.parallelism.tensor, 1).append_to(kernels);
  block.leave();
  block.leave_backward();
  return kernels;
}

/// Router, exchange, experts, exchange; the tokens that a device gets are those it gives (balanced), times the capacity
/// that the fullest expert takes. Tensor ranks divide every expert.
LayerKernels moe_kernels(const LayerSpec& layer, const JobShape& shape) {
  const Parallelism& job = shape.parallelism;
  const std::int64_t local = std::max<std::int64_t>(1, layer.experts / job.expert);
  const std::int64_t routed = shape.expert_tokens(layer);
  const std::int64_t tokens_per_expert = std::max<std::int64_t>(1, routed / local);
  const double dispatched = shape.bytes(routed, layer.width);
  LayerKernels kernels;
  TensorBlock block(kernels, shape, layer.width);
  block.enter();
  block.enter_backward();
  add_linear(kernels, shape, {shape.norm_tokens(), layer.width, layer.experts});
  kernels.forward.memory(2 * dispatched, 12, Movement::kPermute);  // scores, choice, permutation
  kernels.input_grad.memory(2 * dispatched, 12, Movement::kPermute);
  add_exchange(kernels.forward, shape, dispatched);
  add_exchange(kernels.input_grad, shape, dispatched);
  MlpKernels(layer, shape, tokens_per_expert, layer.hidden / job.tensor, local).append_to(kernels);
  add_exchange(kernels.forward, shape, dispatched);
  add_exchange(kernels.input_grad, shape, dispatched);
  kernels.forward.memory(3 * dispatched, 4, Movement::kPermute);  // back in order, weighted sum
  kernels.input_grad.memory(3 * dispatched, 4, Movement::kPermute);
  if (layer.shared_experts > 0) {
    const std::int64_t hidden = layer.hidden * layer.shared_experts / job.tensor;
    MlpKernels(layer, shape, shape.tokens(), hidden, 1).append_to(kernels);
  }
  block.leave();
  block.leave_backward();
  return kernels;
}

}  // namespace plumb
