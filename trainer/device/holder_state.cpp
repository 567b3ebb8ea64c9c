#include "trainer/device/holder_state.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "trainer/device/queued_stage.hpp"
#include "trainer/numbers/gradient_clip.hpp"

namespace plumb {

HolderState::HolderState(const RunPlan& plan, std::uint32_t holder, Arena& arena, SharedByCopies& shared,
                         DeviceQueue* queue)
    : plan_(&plan),
      holder_(holder),
      arena_(&arena),
      layout_(&plan.layout(plan.program.holders[holder].stage, 0)),
      shared_(&shared) {
  for (std::size_t part = 0; part < plan.places.size(); ++part) {
    const StageSpec spec{&plan.layout(stage(), part), plan.places[part].shape, plan.options.optimization.optimizer};
    backends_.push_back(queue == nullptr ? plan.backend.make_stage(plan.options.model.numbers, spec)
                                         : make_queued_stage(*queue, plan.backend, plan.options.model.numbers, spec));
  }
  shared.frozen.make(plan, stage(), arena);
  place_weights(plan.program.holders[holder].weights_start_away ? WeightsPlace::kAway : WeightsPlace::kHere);
  if (!plan.program.forward_only) {
    gradients_ = arena.allocate(MemoryClass::kGradients, layout_->memory.gradient_bytes);
    if (plan.program.holders[holder].gradient_blocks > 1) {
      handed_over_ = arena.allocate(MemoryClass::kGradients, layout_->memory.gradient_bytes);
      memory().fill(gradients_.span(), std::byte{0});
    }
    state_ = arena.allocate(MemoryClass::kOptimizer, layout_->memory.optimizer_bytes);
    for (std::int32_t i = 0; i < plan.program.holders[holder].correction_buffers; ++i) {
      corrections_.push_back(arena.allocate(MemoryClass::kWeightVersions, layout_->memory.updated_bytes()));
      memory().fill(corrections_.back().span(), std::byte{0});
    }
  }
  initialize();
  const NamedValues& given = plan.options.model.initial_parameters;
  if (!given.empty()) set_weights(with_values(given));
  if (plan.program.has_teacher) start_teacher();
  if (plan.method_places.empty()) return;
  const TrainOptions& options = plan.options;
  chain_ = CorrectionChain({options.schedule, options.optimization.optimizer, options.optimization.learning_rate},
                           plan.method_places[holder], corrections_);
  chain_.start(corrected(nullptr));
}

/// Draws the weights on the device; those that start away are drawn in lent memory and copied to the host.
void HolderState::initialize() {
  HolderBlocks blocks = holder_blocks();
  std::optional<LentMemory> made;
  if (!away_.empty()) blocks.weights = made.emplace(memory(), layout_->memory.updated_bytes()).span().data();
  backend(0).initialize(plan_->options.model.seed, blocks);
  memory().wait();
  if (!made) return;
  std::vector<std::byte> scratch;
  std::ranges::copy(memory().view(made->span(), scratch), away_.begin());
}

/// Returns the newest weights with some that are given.
std::vector<std::byte> HolderState::with_values(const NamedValues& given) {
  const std::span<const std::byte> drawn = stored_weights();
  std::vector<std::byte> values(drawn.begin(), drawn.end());
  const std::span<const ParameterFacts> parameters(layout_->parameters);
  if (plan_->options.model.numbers == NumberType::kFloat64) {
    set_parameters(parameters, given, reinterpret_cast<double*>(values.data()));
  } else {
    set_parameters(parameters, given, reinterpret_cast<float*>(values.data()));
  }
  return values;
}

void HolderState::start_teacher() {
  std::byte* weights = corrections_.back().data();
  memory().write(weights, with_values(plan_->options.model.teacher_parameters));
  memory().wait();
  teacher_ = Teacher(weights, plan_->options.optimization.teacher.decay);
}

const std::byte* HolderState::teacher_weights(std::int64_t update) {
  if (teacher_.exists()) teacher_.follow(update, backend(0), weights_.data());
  return teacher_.weights();
}

/// Collects what corrections of asynchronous methods may read and change.
CorrectedHolder HolderState::corrected(const std::byte* forward_weights) {
  const double rate =
      learning_rate(plan_->options.optimization.learning_rate, updates_done_) * chain_.rate_factor(updates_done_);
  return {.arithmetic = backend(0),
          .blocks = holder_blocks(),
          .weight_bytes = layout_->memory.updated_bytes(),
          .updates_done = updates_done_,
          .learning_rate = rate,
          .shared = shared_->corrections,
          .forward_weights = forward_weights};
}

/// Returns what the holder gives to the mean over holders: its weights, or what a method makes of them.
std::vector<std::byte> HolderState::given_weights() {
  const LentMemory change(memory(), layout_->memory.updated_bytes());
  const bool changed = chain_.exchange(Exchange::kGive, change.span(), corrected(nullptr));
  std::vector<std::byte> scratch;
  const std::span<const std::byte> given = changed ? memory().view(change.span(), scratch) : stored_weights();
  return {given.begin(), given.end()};
}

void HolderState::take_weights(std::vector<std::byte> sum, std::size_t members) {
  const LentMemory there(memory(), layout_->memory.updated_bytes());
  memory().write(there.span().data(), sum);
  if (chain_.exchange(Exchange::kTake, there.span(), corrected(nullptr))) return memory().wait();
  plan_->backend.scale(plan_->options.model.numbers, sum, 1.0 / static_cast<double>(members));
  set_weights(sum);
}

const std::byte* HolderState::weights(const WeightRead& read) {
  const std::byte* corrected_weights = chain_.weights(read, corrected(nullptr));
  return corrected_weights != nullptr ? corrected_weights : weights(read.version);
}

HolderState::Blocks HolderState::blocks() {
  std::vector<std::int64_t*> notes = chain_.notes();
  if (teacher_.exists()) notes.push_back(teacher_.update());
  return {&weights_, &gradients_, &handed_over_, &versions_, &corrections_, std::move(notes)};
}

const std::byte* HolderState::weights(std::int32_t version) const {
  if (version == version_) return weights_.data();
  const auto found = versions_.find(version);
  if (found != versions_.end()) return found->second.data();
  throw std::logic_error("version " + std::to_string(version) + " of stage " + std::to_string(index(stage())) +
                         " is read but not there; the newest is " + std::to_string(version_));
}

void HolderState::copy_weights_away() {
  const std::span<const std::byte> here = memory().view(weights_.span(), seen_);
  away_.assign(here.begin(), here.end());
}

void HolderState::bring_weights_back() {
  weights_ = arena_->allocate(MemoryClass::kWeights, layout_->memory.updated_bytes());
  memory().write(weights_.data(), away_);
  away_.clear();
}

WeightsPlace HolderState::weights_place() const {
  if (away_.empty()) return WeightsPlace::kHere;
  return weights_.bytes() > 0 ? WeightsPlace::kCopied : WeightsPlace::kAway;
}

/// Returns the float32 weights that updates work on where passes read bf16; they are the first part of the state.
std::span<std::byte> HolderState::masters() {
  if (plan_->options.model.numbers != NumberType::kBFloat16 || state_.bytes() == 0) return {};
  return state_.span().first(2 * static_cast<std::size_t>(layout_->memory.updated_bytes()));
}

std::span<const std::byte> HolderState::stored_weights() {
  if (!masters().empty()) return memory().view(masters(), seen_);
  if (plan_->options.model.numbers == NumberType::kBFloat16) {
    std::vector<std::byte> scratch;
    seen_ = widened_from_bfloat16(away_.empty() ? memory().view(weights_.span(), scratch) : away_);
    return seen_;
  }
  if (!away_.empty()) return away_;
  return memory().view(weights_.span(), seen_);
}

std::span<const std::byte> HolderState::stored_frozen() {
  return shared_->frozen.stored(stage(), memory(), plan_->options.model.numbers);
}

void HolderState::place_weights(WeightsPlace place) {
  away_.clear();
  weights_ = Block();
  const std::int64_t bytes = layout_->memory.updated_bytes();
  if (place != WeightsPlace::kAway) weights_ = arena_->allocate(MemoryClass::kWeights, bytes);
  if (place != WeightsPlace::kHere) away_.resize(static_cast<std::size_t>(bytes));
}

void HolderState::set_weights(std::span<const std::byte> weights) {
  std::vector<std::byte> rounded;
  if (!masters().empty()) memory().write(masters().data(), weights);
  if (plan_->options.model.numbers == NumberType::kBFloat16) weights = rounded = rounded_to_bfloat16(weights);
  if (weights_.bytes() > 0) memory().write(weights_.data(), weights);
  if (!away_.empty()) std::ranges::copy(weights, away_.data());
}

/// Keeps the old version where some pass still reads it, and the state where the update may be taken back.
void HolderState::begin_update(bool keep, bool with_state) {
  workspace_ = arena_->allocate(MemoryClass::kWorkspace, layout_->memory.workspace_u_bytes);
  if (!keep) return;
  Block copy = arena_->allocate(MemoryClass::kWeightVersions, layout_->memory.updated_bytes());
  memory().copy(copy.data(), weights_.span());
  versions_.emplace(version_, std::move(copy));
  if (!with_state) return;
  kept_state_ = arena_->allocate(MemoryClass::kWeightVersions, layout_->memory.optimizer_bytes);
  memory().copy(kept_state_.data(), state_.span());
}

void HolderState::keep_last_gradients() {
  if (!plan_->options.observation.keep_parameters) return;
  std::vector<std::byte> scratch;
  const std::span<const std::byte> gradients = memory().view(update_block().span(), scratch);
  last_gradients_.assign(gradients.begin(), gradients.end());
}

UpdateStep HolderState::next_step() const {
  UpdateStep step;
  step.update = updates_done_;
  step.learning_rate =
      learning_rate(plan_->options.optimization.learning_rate, updates_done_) * chain_.rate_factor(updates_done_);
  step.gradient_scale = gradient_scale();
  return step;
}

void HolderState::step(double gradient_scale) {
  UpdateStep step = next_step();
  step.gradient_scale = gradient_scale;
  step.keep_gradients = true;
  backend(0).update(step, holder_blocks());
}

/// Applies the gradients: corrections may change them first, then the norm is clipped, then weights change.
void HolderState::update(std::int32_t forward_version) {
  keep_last_gradients();
  UpdateStep step = next_step();
  chain_.before_update(step, corrected(forward_version < 0 ? nullptr : weights(forward_version)));
  const double limit = plan_->options.optimization.clip_norm;
  if (limit > 0) step.gradient_scale *= clip_factor(squared_norms(), step.gradient_scale, limit);
  backend(0).update(step, holder_blocks());
  ++version_;
  ++updates_done_;
  chain_.after_update(step, corrected(nullptr));
}

/// Exchanges the two blocks of gradients; a method that carries gradients on keeps their sum in both.
void HolderState::hand_over_gradients() {
  if (handed_over_.bytes() == 0) return;
  if (chain_.carries_gradients(updates_done_)) memory().copy(handed_over_.data(), gradients_.span());
  std::swap(gradients_, handed_over_);
}

/// Applies the decision that the norms known so far allow; `validate` corrects it when all are known.
void HolderState::propose(const std::optional<UpdateDecision>& decision) {
  keep_last_gradients();
  proposed_ = decision;
  proposed_scale_ = gradient_scale();
  if (decision && decision->applies) step(proposed_scale_ * decision->factor);
  ++version_;
}

/// Settles an update: if the decision was another one, weights and state go back to what they were, and the step is
/// made as decided.
void HolderState::validate(const UpdateDecision& decision) {
  if (proposed_ != decision) {
    if (proposed_ && proposed_->applies) {
      memory().copy(weights_.data(), versions_.at(version_ - 1).span());
      memory().copy(state_.data(), kept_state_.span());
    }
    if (proposed_) ++updates_rolled_back_;
    if (decision.applies) step(proposed_scale_ * decision.factor);
  }
  memory().fill(update_block().span(), std::byte{0});
  ++(decision.applies ? updates_done_ : updates_skipped_);
  proposed_.reset();
}

std::int64_t HolderState::microbatches_summed() const {
  const std::vector<std::int64_t>& counts = plan_->summed[holder_];
  const auto update = static_cast<std::size_t>(version_);
  const bool some = update < counts.size() && counts[update] > 0;
  return some ? counts[update] : plan_->options.schedule.per_update(stage());
}

/// Takes a checkpoint's counters and allocates its old versions, whose bytes the caller fills in.
void HolderState::restore(std::int32_t version, std::int64_t updates_done, std::span<const std::int32_t> old_versions) {
  version_ = version;
  updates_done_ = updates_done;
  versions_.clear();
  for (const std::int32_t old : old_versions) {
    versions_.emplace(old, arena_->allocate(MemoryClass::kWeightVersions, layout_->memory.updated_bytes()));
  }
}

}  // namespace plumb
