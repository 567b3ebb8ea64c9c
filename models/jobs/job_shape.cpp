#include "models/jobs/job_shape.hpp"

#include <cmath>

namespace plumb {

JobShape::JobShape(const Network& network, const Parallelism& job)
    : parallelism(job),
      samples(job.microbatch_size > 0 ? job.microbatch_size : network.samples),
      sequence(job.sequence > 0 ? job.sequence : network.sequence) {}

double JobShape::scores(const LayerSpec& layer) const {
  return static_cast<double>(tokens()) * static_cast<double>(sequence) * static_cast<double>(layer.heads) /
         static_cast<double>(parallelism.tensor);
}

std::int64_t JobShape::expert_tokens(const LayerSpec& layer) const {
  // Ranks that divide an expert gather the parts of a divided sequence.
  const std::int64_t gathered = parallelism.sequence_parallel ? parallelism.expert_parts() : 1;
  const auto mean = static_cast<double>(dispatched_tokens() * gathered * layer.experts_per_token);
  return std::llround(mean * parallelism.expert_load());
}

bool JobShape::masks(const LayerSpec& layer) const {
  const bool has_biases =
      layer.kind != LayerKind::kLatentAttention && layer.kind != LayerKind::kMamba && layer.kind != LayerKind::kMoe;
  return parallelism.dropout.value_or(has_biases && layer.bias);
}

JobShape fully_sharded(JobShape shape) {
  shape.parallelism.zero = ZeroStage::kWeights;
  return shape;
}

bool keeps_mask(LayerKind kind) {
  return kind == LayerKind::kAttention || kind == LayerKind::kMlp || kind == LayerKind::kMoe ||
         kind == LayerKind::kLatentAttention || kind == LayerKind::kMamba;
}

}  // namespace plumb
