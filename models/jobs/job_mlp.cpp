#include "models/jobs/job_mlp.hpp"

namespace plumb {

/// Megatron's fused activations write 16 bits, so products in other formats cast what they read.
void add_mlp(LayerKernels& kernels, const LayerSpec& layer, const JobShape& shape, const MlpShape& mlp) {
  const auto& [tokens, features, hidden, copies, routed] = mlp;
  const auto divided = [&](Divided side) { return mlp.routed ? Divided::kNeither : side; };
  const auto adapted = layer.kind == LayerKind::kMlp ? std::optional(LoraTargets::kAll) : std::nullopt;  // no experts
  const std::int64_t inner = layer.gated ? 2 * hidden : hidden;
  LayerKernels in;
  LayerKernels out;
  add_linear(in, shape,
             {.tokens = tokens,
              .inputs = features,
              .outputs = inner,
              .copies = copies,
              .input_cast = !routed,
              .divided = divided(Divided::kOutputs),
              .adapted = adapted});
  add_linear(out, shape,
             {.tokens = tokens,
              .inputs = hidden,
              .outputs = features,
              .copies = copies,
              .divided = divided(Divided::kInputs),
              .adapted = adapted});
  if (layer.bias && copies == 1) {
    add_bias(in, shape, tokens, inner, false);  // added with the activation
    add_bias(out, shape, shape.norm_tokens(), features, false);
  }
  const double wide = shape.bytes(tokens * copies, inner);
  const double narrow = shape.bytes(tokens * copies, hidden);
  PassKernels activation;
  activation.memory(wide + narrow);
  kernels.forward.append(in.forward);
  kernels.forward.append(activation);
  kernels.forward.append(out.forward);
  if (shape.parallelism.modules.has(RecomputeModule::kActivation)) kernels.again.append(activation);
  kernels.input_grad.append(out.input_grad);
  kernels.input_grad.memory(2 * wide + narrow);
  kernels.input_grad.append(in.input_grad);
  kernels.weight_grad.append(out.weight_grad);
  kernels.weight_grad.append(in.weight_grad);
}

LayerKernels mlp_kernels(const LayerSpec& layer, const JobShape& shape) {
  LayerKernels kernels;
  TensorBlock block(kernels, shape, layer.width);
  block.enter();
  block.enter_backward();
  add_mlp(kernels, layer, shape, {shape.tokens(), layer.width, layer.hidden / shape.parallelism.tensor});
  block.leave();
  block.leave_backward();
  return kernels;
}

}  // namespace plumb
