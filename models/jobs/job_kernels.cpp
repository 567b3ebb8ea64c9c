#include "models/jobs/job_kernels.hpp"

#include "models/jobs/job_layers.hpp"
#include "models/layers/describe_layer.hpp"
#include "models/network/layer_shape.hpp"

namespace plumb {

namespace {

LayerKernels norm_kernels(const LayerSpec& layer, const JobShape& shape) {
  const double values = shape.bytes(shape.norm_tokens(), layer.width);
  LayerKernels kernels;
  kernels.forward.memory(2 * values, 1, Movement::kNorm);
  kernels.input_grad.memory(4 * values, 2, Movement::kNorm);
  return kernels;
}

/// Kinds without a tensor-parallel form: their FLOPs and bytes, or their measured times, as they are.
LayerKernels plain_kernels(const LayerSpec& layer, const JobShape& shape) {
  const LayerFacts facts = describe(layer, {shape.samples, shape.sequence}, shape.parallelism.precision);
  const auto add = [](PassKernels& pass, const PassFacts& from) {
    pass.roofline(from.flops, static_cast<double>(from.bytes_moved));
  };
  LayerKernels kernels;
  if (layer.kind == LayerKind::kProfiled) {
    const auto measured = [](std::int64_t nanoseconds) {
      return Kernel{.kind = Kernel::Kind::kMeasured, .seconds = static_cast<double>(nanoseconds) * 1e-9, .launches = 0};
    };
    kernels.forward.list = {measured(layer.profiled.f_ns)};
    kernels.input_grad.list = {measured(layer.profiled.i_ns)};
    kernels.weight_grad.list = {measured(layer.profiled.w_ns)};
    return kernels;
  }
  add(kernels.forward, facts.forward);
  add(kernels.input_grad, facts.input_grad);
  add(kernels.weight_grad, facts.weight_grad);
  return kernels;
}

/// Returns the branches, then the sum with its dropout.
LayerKernels residual_kernels(const LayerSpec& layer, const JobShape& shape) {
  LayerKernels kernels;
  bool masks = false;
  for (const std::vector<LayerSpec>* branch : {&layer.body, &layer.shortcut}) {
    for (const LayerSpec& inner : *branch) {
      const LayerKernels part = layer_kernels(inner, shape);
      const bool norm = inner.kind == LayerKind::kLayerNorm || inner.kind == LayerKind::kRmsNorm;
      if (norm && shape.parallelism.modules.has(RecomputeModule::kNorm)) kernels.again.append(part.forward);
      kernels.append(part);
      masks = masks || (keeps_mask(inner.kind) && shape.masks(inner));
    }
  }
  const std::int64_t width = output_width(layer);
  const double values = shape.bytes(shape.norm_tokens(), width);
  const double mask = masks ? values / static_cast<double>(shape.number_bytes()) : 0;
  kernels.forward.memory(3 * values + mask, 1, masks ? Movement::kDropout : Movement::kElementwise);
  kernels.input_grad.memory(3 * values + mask, masks ? 2 : 1);
  return kernels;
}

}  // namespace

LayerKernels layer_kernels(const LayerSpec& layer, const JobShape& shape) {
  switch (layer.kind) {
    case LayerKind::kEmbedding:
      return embedding_kernels(layer, shape);
    case LayerKind::kLayerNorm:
    case LayerKind::kRmsNorm:
      return norm_kernels(layer, shape);
    case LayerKind::kAttention:
      return attention_kernels(layer, shape);
    case LayerKind::kLatentAttention:
      return latent_attention_kernels(layer, shape);
    case LayerKind::kMlp:
      return mlp_kernels(layer, shape);
    case LayerKind::kMoe:
      return moe_kernels(layer, shape);
    case LayerKind::kMamba:
      return mamba_kernels(layer, shape);
    case LayerKind::kFurtherToken:
      return further_token_kernels(layer, shape);
    case LayerKind::kHead:
      return head_kernels(layer, shape);
    case LayerKind::kResidual:
      return residual_kernels(layer, shape);
    default:
      return plain_kernels(layer, shape);
  }
}

}  // namespace plumb
