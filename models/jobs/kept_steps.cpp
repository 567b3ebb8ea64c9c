#include "models/jobs/kept_steps.hpp"

#include <cmath>

#include "models/jobs/low_precision.hpp"

namespace plumb {
namespace {

void drop_module(RecomputeModule module, const LayerSpec& layer, ActivationStep& step) {
  switch (module) {
    case RecomputeModule::kNorm:
      if (step.name == "attention.input" || step.name == "mlp.input" || step.name == "moe.router") {
        step.kept.for_weight_grad = 0;
      }
      break;
    case RecomputeModule::kActivation:
      if (step.name.ends_with("activated")) step.kept.for_weight_grad = 0;
      break;
    case RecomputeModule::kMoe:
      if (layer.kind == LayerKind::kMoe) step.kept = {};
      break;
    case RecomputeModule::kMlaUpProj:
      if (layer.kind == LayerKind::kLatentAttention && step.name == "attention.qkv") step.kept.for_input_grad = 0;
      break;
  }
}

}  // namespace

void set_kept(const LayerSpec& layer, const JobShape& shape, std::vector<ActivationStep>& steps) {
  const Parallelism& job = shape.parallelism;
  const double share = format_costs(job.format).number_bytes / format_costs(MatrixFormat::kBf16).number_bytes;
  for (ActivationStep& step : steps) {
    if (job.format != MatrixFormat::kBf16 && step.product) {
      step.kept.for_weight_grad = std::llround(static_cast<double>(step.kept.for_weight_grad) * share);
    }
    for (std::size_t k = 0; k < kRecomputeModuleCount; ++k) {
      const auto module = static_cast<RecomputeModule>(k);
      if (job.modules.has(module)) drop_module(module, layer, step);
    }
  }
  if (layer.kind != LayerKind::kMoe || !job.modules.has(RecomputeModule::kMoe)) return;
  // Its input, of which all of it is made again.
  steps.front().kept.for_input_grad = shape.number_bytes() * shape.norm_tokens() * layer.width;
}

}  // namespace plumb
