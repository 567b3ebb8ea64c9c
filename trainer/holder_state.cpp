#include "trainer/holder_state.hpp"

#include <cstring>
#include <stdexcept>
#include <string>

#include "trainer/gradient_clip.hpp"

namespace plumb {

HolderState::HolderState(const RunPlan& plan, std::uint32_t holder, Arena& arena)
    : plan_(&plan), holder_(holder), arena_(&arena), layout_(&plan.layout(plan.program.holders[holder].stage, 0)) {
  for (std::size_t part = 0; part < plan.places.size(); ++part) {
    const StageSpec spec{&plan.layout(stage(), part), plan.places[part].shape, plan.options.optimizer};
    backends_.push_back(plan.backend.make_stage(plan.options.numbers, spec));
  }
  weights_ = arena.allocate(MemoryClass::kWeights, layout_->memory.weight_bytes);
  gradients_ = arena.allocate(MemoryClass::kGradients, layout_->memory.gradient_bytes);
  state_ = arena.allocate(MemoryClass::kOptimizer, layout_->memory.optimizer_bytes);
  backend(0).initialize(plan.options.seed, holder_blocks());
}

const std::byte* HolderState::weights(std::int32_t version) const {
  if (version == version_) return weights_.data();
  const auto found = versions_.find(version);
  if (found != versions_.end()) return found->second.data();
  throw std::logic_error("version " + std::to_string(version) + " of stage " + std::to_string(index(stage())) +
                         " is read but not there; the newest is " + std::to_string(version_));
}

void HolderState::begin_update(bool keep) {
  workspace_ = arena_->allocate(MemoryClass::kWorkspace, layout_->memory.workspace_u_bytes);
  if (!keep) return;
  Block copy = arena_->allocate(MemoryClass::kWeightVersions, layout_->memory.weight_bytes);
  if (copy.bytes() > 0) std::memcpy(copy.data(), weights_.data(), static_cast<std::size_t>(copy.bytes()));
  versions_.emplace(version_, std::move(copy));
}

void HolderState::update() {
  const TrainOptions& options = plan_->options;
  if (options.keep_parameters) {
    last_gradients_.assign(gradients_.data(), gradients_.data() + gradients_.bytes());
  }
  UpdateStep step;
  step.update = updates_done_;
  step.learning_rate = learning_rate(options.learning_rate, updates_done_);
  step.gradient_scale = 1.0 / static_cast<double>(options.schedule.per_update(stage()));
  if (options.clip_norm > 0) {
    step.gradient_scale *=
        clip_factor(backend(0).squared_norms(holder_blocks()), step.gradient_scale, options.clip_norm);
  }
  backend(0).update(step, holder_blocks());
  ++version_;
  ++updates_done_;
}

void HolderState::restore(std::int32_t version, std::int64_t updates_done, std::span<const std::int32_t> old_versions) {
  version_ = version;
  updates_done_ = updates_done;
  versions_.clear();
  for (const std::int32_t old : old_versions) {
    versions_.emplace(old, arena_->allocate(MemoryClass::kWeightVersions, layout_->memory.weight_bytes));
  }
}

}  // namespace plumb
