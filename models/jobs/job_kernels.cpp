#include "models/jobs/job_kernels.hpp"

#include <algorithm>
#include <cmath>

#include "models/jobs/job_layers.hpp"
#include "models/layers/layer.hpp"
#include "models/network/layer_shape.hpp"

namespace plumb {

void PassKernels::gemm(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t count) {
  Kernel kernel{.kind = Kernel::Kind::kGemm, .m = m, .n = n, .k = k, .count = count};
  kernel.flops =
      2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) * static_cast<double>(count);
  kernel.bytes = 2.0 * static_cast<double>(count) *
                 (static_cast<double>(m) * static_cast<double>(n) + static_cast<double>(m) * static_cast<double>(k) +
                  static_cast<double>(n) * static_cast<double>(k));
  list.push_back(kernel);
}

void PassKernels::attention(double flops, double bytes, std::int32_t launches) {
  list.push_back({.kind = Kernel::Kind::kAttention, .flops = flops, .bytes = bytes, .launches = launches});
}

void PassKernels::memory(double bytes, std::int32_t launches) {
  list.push_back({.kind = Kernel::Kind::kMemory, .bytes = bytes, .launches = launches});
}

void PassKernels::roofline(double flops, double bytes) {
  if (flops > 0 || bytes > 0) list.push_back({.kind = Kernel::Kind::kRoofline, .flops = flops, .bytes = bytes});
}

void PassKernels::collective(CollectiveOp op, GroupAxis axis, double bytes, bool hidden) {
  list.push_back({.kind = Kernel::Kind::kCollective, .bytes = bytes, .op = op, .axis = axis, .hidden = hidden});
}

void PassKernels::append(const PassKernels& other) { list.insert(list.end(), other.list.begin(), other.list.end()); }

double PassKernels::flops() const {
  double sum = 0;
  for (const Kernel& kernel : list) sum += kernel.flops;
  return sum;
}

JobShape::JobShape(const Network& network, const Parallelism& job)
    : parallelism(job),
      samples(job.microbatch_size > 0 ? job.microbatch_size : network.samples),
      sequence(job.sequence > 0 ? job.sequence : network.sequence) {}

double JobShape::scores(const LayerSpec& layer) const {
  return static_cast<double>(tokens()) * static_cast<double>(sequence) * static_cast<double>(layer.heads) /
         static_cast<double>(parallelism.tensor);
}

std::int64_t JobShape::expert_tokens(const LayerSpec& layer) const {
  const double mean = static_cast<double>(tokens() * layer.experts_per_token);
  return std::llround(mean * parallelism.expert_capacity);
}

bool JobShape::masks(const LayerSpec& layer) const { return parallelism.dropout.value_or(layer.bias); }

namespace {

LayerKernels norm_kernels(const LayerSpec& layer, const JobShape& shape) {
  const double values = shape.bytes(shape.norm_tokens(), layer.width);
  LayerKernels kernels;
  kernels.forward.memory(2 * values);
  kernels.input_grad.memory(4 * values, 2);
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

/// The branches, then the sum with its dropout.
LayerKernels residual_kernels(const LayerSpec& layer, const JobShape& shape) {
  LayerKernels kernels;
  bool masks = false;
  for (const std::vector<LayerSpec>* branch : {&layer.body, &layer.shortcut}) {
    for (const LayerSpec& inner : *branch) {
      const LayerKernels part = layer_kernels(inner, shape);
      kernels.forward.append(part.forward);
      kernels.input_grad.append(part.input_grad);
      kernels.weight_grad.append(part.weight_grad);
      kernels.again.append(part.again);
      masks = masks || (keeps_mask(inner.kind) && shape.masks(inner));
    }
  }
  const std::int64_t width = output_width(layer);
  const double values = shape.bytes(shape.norm_tokens(), width);
  const double mask = masks ? values / static_cast<double>(shape.number_bytes()) : 0;
  kernels.forward.memory(3 * values + mask);
  kernels.input_grad.memory(3 * values + mask, masks ? 2 : 1);
  return kernels;
}

}  // namespace

bool keeps_mask(LayerKind kind) {
  return kind == LayerKind::kAttention || kind == LayerKind::kMlp || kind == LayerKind::kMoe ||
         kind == LayerKind::kLatentAttention;
}

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
    case LayerKind::kHead:
      return head_kernels(layer, shape);
    case LayerKind::kResidual:
      return residual_kernels(layer, shape);
    default:
      return plain_kernels(layer, shape);
  }
}

}  // namespace plumb
