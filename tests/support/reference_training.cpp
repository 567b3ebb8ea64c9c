#include "tests/support/reference_training.hpp"

#include <algorithm>
#include <list>
#include <map>
#include <numeric>
#include <span>
#include <stdexcept>
#include <utility>

#include "models/stages/lay_out_stage.hpp"
#include "trainer/numbers/gradient_clip.hpp"
#include "trainer/numbers/initial_weights.hpp"
#include "trainer/plan/post_validation.hpp"
#include "trainer/stages/stage_module.hpp"

namespace plumb {
namespace {

using Reads = std::function<ReadVersions(std::int64_t, std::int64_t)>;

/// The arithmetic of a stage for one size of microbatch.
template <class T>
struct SizedStage {
  SizedStage(const TrainOptions& options, std::size_t stage, const MicrobatchShape& shape)
      : layout(plain_stage_layout(options.model.network.layers, options.model.partition.range(stage), shape,
                                  precision_of<T>(options.optimization.optimizer))),
        module(layout, shape) {}
  SizedStage(const SizedStage&) = delete;
  SizedStage& operator=(const SizedStage&) = delete;

  StageLayout layout;
  StageModule<T> module;
};

/// Microbatch `k` of the run.
MicrobatchShape shape_of(const TrainOptions& options, std::int64_t k) {
  const std::vector<std::int64_t>& sizes = options.schedule.microbatch_sizes;
  if (sizes.empty()) return options.model.shape;
  const std::int64_t largest = *std::max_element(sizes.begin(), sizes.end());
  return {options.model.shape.samples,
          options.model.shape.sequence * sizes[static_cast<std::size_t>(k) % sizes.size()] / largest};
}

template <class T>
struct ReferenceStage {
  ReferenceStage(const TrainOptions& options, std::size_t stage)
      : layout(plain_stage_layout(options.model.network.layers, options.model.partition.range(stage),
                                  options.model.shape, precision_of<T>(options.optimization.optimizer))) {
    for (std::size_t k = 0; k < std::max<std::size_t>(1, options.schedule.microbatch_sizes.size()); ++k) {
      const MicrobatchShape shape = shape_of(options, static_cast<std::int64_t>(k));
      sized.try_emplace(shape.sequence, options, stage, shape);
    }
    versions.emplace_back(static_cast<std::size_t>(layout.memory.updated_bytes()) / sizeof(T));
    frozen.resize(static_cast<std::size_t>(layout.memory.frozen_bytes) / sizeof(T));
    begin(options, layout.parameters, versions.front());
    begin(options, layout.frozen, frozen);
    gradients.assign(versions.front().size(), T(0));
    state.assign(static_cast<std::size_t>(layout.memory.optimizer_bytes) / sizeof(T), T(0));
  }

  static void begin(const TrainOptions& options, std::span<const ParameterFacts> parameters, std::vector<T>& values) {
    fill_parameters(parameters, options.model.seed, values.data());
    set_parameters(parameters, options.model.initial_parameters, values.data());
  }

  StageLayout layout;
  std::map<std::int64_t, SizedStage<T>> sized;  ///< by tokens per sample
  Arena arena;
  std::vector<std::vector<T>> versions;
  std::vector<T> frozen;
  std::vector<T> gradients;
  std::vector<T> last_gradients;
  std::vector<T> state;
};

template <class T>
class Reference {
 public:
  Reference(const TrainOptions& options, const Reads& reads, std::span<const std::int64_t> order)
      : options_(options), reads_(reads), order_(order) {
    for (std::size_t stage = 0; stage < options.model.partition.num_stages(); ++stage)
      stages_.emplace_back(options, stage);
  }

  TrainResult run() {
    const std::int64_t per_update = options_.schedule.per_update(StageId{0});
    TrainResult result;
    for (std::int64_t update = 0; update < options_.optimization.steps; ++update) {
      std::vector<double> losses(static_cast<std::size_t>(per_update));
      for (std::int64_t i = 0; i < per_update; ++i) {
        const std::int64_t k = order_.empty() ? i : order_[static_cast<std::size_t>(i)];
        losses[static_cast<std::size_t>(k)] = microbatch(update * per_update + k);
      }
      const double sum = std::accumulate(losses.begin(), losses.end(), 0.0);
      result.losses.push_back(sum / static_cast<double>(per_update));
      apply_all(per_update);
    }
    for (const ReferenceStage<T>& stage : stages_) {
      name_values(stage.layout.parameters, stage.versions.back(), result.parameters);
      name_values(stage.layout.frozen, stage.frozen, result.parameters);
      name_values(stage.layout.parameters, stage.last_gradients, result.gradients);
    }
    return result;
  }

 private:
  StageWeights<T> weights(const ReferenceStage<T>& stage, std::int64_t version) const {
    if (version < 0 || version >= static_cast<std::int64_t>(stage.versions.size())) {
      throw std::logic_error("a version that no update has made yet");
    }
    return {stage.versions[static_cast<std::size_t>(version)].data(), stage.frozen.data()};
  }

  /// Mean tokens of the microbatches of the update that `k` belongs to: every token counts the same.
  double loss_tokens(std::int64_t k) const {
    const std::int64_t per_update = options_.schedule.per_update(StageId{0});
    const std::int64_t begin = k / per_update * per_update;
    double tokens = 0;
    for (std::int64_t i = begin; i < begin + per_update; ++i) {
      tokens += static_cast<double>(shape_of(options_, i).tokens());
    }
    return tokens / static_cast<double>(per_update);
  }

  /// F through all stages, then B through all; the loss.
  double microbatch(std::int64_t k) {
    const MicrobatchShape shape = shape_of(options_, k);
    const Microbatch data = options_.data->microbatch(k, shape, options_.model.seed);
    double loss = 0;
    const MicrobatchIds ids = ids_of(data, loss_tokens(k) * counted_share(data));
    std::list<StageStash> stashes;
    std::vector<std::byte> value;
    std::int64_t number = 0;
    for (ReferenceStage<T>& stage : stages_) {
      const SizedStage<T>& sized = stage.sized.at(shape.sequence);
      inputs_.push_back(value);
      StageStash& stash = stashes.emplace_back(sized.layout, stage.arena);
      const StageBlocks blocks = stash.begin_forward(received(stage, value));
      sized.module.forward(weights(stage, reads_(k, number++).forward), blocks, ids, &loss);
      value = bytes_of(stash.end_forward());
    }
    replay(k, shape, ids, stashes);
    value.clear();
    for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage, stashes.pop_back()) {
      StageStash& stash = stashes.back();
      const StageBlocks blocks = stash.begin_backward(received(*stage, value));
      const StageModule<T>& module = stage->sized.at(shape.sequence).module;
      const ReadVersions read = reads_(k, --number);
      if (read.recompute) module.recompute(weights(*stage, read.backward), blocks, ids);
      module.backward(weights(*stage, read.backward), stage->gradients.data(), blocks);
      if (options_.hooks.on_gradients)
        options_.hooks.on_gradients(StageId{static_cast<std::int32_t>(number)}, k, as_bytes_of(*stage));
      value = bytes_of(stash.end_backward());
    }
    return loss;
  }

  /// The forwards that are run again, all stages in order; the backwards then read what these have made.
  void replay(std::int64_t k, const MicrobatchShape& shape, const MicrobatchIds& ids, std::list<StageStash>& stashes) {
    std::vector<std::byte> value;
    std::int64_t number = 0;
    auto stash = stashes.begin();
    for (ReferenceStage<T>& stage : stages_) {
      const ReadVersions read = reads_(k, number);
      const std::vector<std::byte> input = read.replay_follows ? value : inputs_[static_cast<std::size_t>(number)];
      ++number;
      StageStash& old = *stash++;
      if (read.replay < 0) continue;
      const SizedStage<T>& sized = stage.sized.at(shape.sequence);
      old = StageStash(sized.layout, stage.arena);
      double loss = 0;
      sized.module.forward(weights(stage, read.replay), old.begin_forward(received(stage, input)), ids, &loss);
      value = bytes_of(old.end_forward());
    }
    inputs_.clear();
  }

  static Block received(ReferenceStage<T>& stage, const std::vector<std::byte>& value) {
    Block block = stage.arena.allocate(MemoryClass::kTransfer, static_cast<std::int64_t>(value.size()));
    std::copy(value.begin(), value.end(), block.data());
    return block;
  }

  static std::vector<std::byte> bytes_of(const Block& block) { return {block.data(), block.data() + block.bytes()}; }

  static std::span<std::byte> as_bytes_of(ReferenceStage<T>& stage) {
    return std::as_writable_bytes(std::span(stage.gradients));
  }

  /// The update of all stages. With a norm of all stages, one that is not finite skips it.
  void apply_all(std::int64_t per_update) {
    const GradientClip clip{options_.optimization.clip_norm, options_.optimization.clip_scope};
    const double scale = 1.0 / static_cast<double>(per_update);
    std::vector<std::vector<double>> norms;
    for (const ReferenceStage<T>& stage : stages_) {
      norms.push_back(squared_norms<T>(stage.layout.parameters, stage.gradients.data()));
    }
    bool applied = true;
    std::size_t number = 0;
    for (ReferenceStage<T>& stage : stages_) {
      UpdateDecision decision = decide(clip, scale, norms, number++);
      if (clip.scope == ClipScope::kStage) decision.applies = true;
      apply(stage, scale, decision);
      applied = decision.applies;
    }
    updates_done_ += applied ? 1 : 0;
  }

  void apply(ReferenceStage<T>& stage, double scale, const UpdateDecision& decision) {
    stage.versions.push_back(stage.versions.back());
    stage.last_gradients = stage.gradients;
    const std::int64_t number = updates_done_;
    const UpdateStep step{number, learning_rate(options_.optimization.learning_rate, number), scale * decision.factor};
    if (decision.applies)
      update<T>(options_.optimization.optimizer, step, stage.layout.parameters,
                {stage.versions.back().data(), stage.gradients.data(), stage.state.data()});
    std::ranges::fill(stage.gradients, T(0));
  }

  static void name_values(std::span<const ParameterFacts> parameters, const std::vector<T>& values,
                          NamedValues& named) {
    auto at = values.begin();
    for (const ParameterFacts& parameter : parameters) {
      const auto end = at + static_cast<std::ptrdiff_t>(parameter.count());
      named.emplace(parameter.name, std::vector<double>(at, end));
      at = end;
    }
  }

  const TrainOptions& options_;
  const Reads& reads_;
  std::span<const std::int64_t> order_;
  std::list<ReferenceStage<T>> stages_;
  std::int64_t updates_done_ = 0;
  std::vector<std::vector<std::byte>> inputs_;  ///< of the microbatch under way, by stage
};

}  // namespace

namespace {

TrainResult run_reference(const TrainOptions& options, const Reads& reads, std::span<const std::int64_t> order) {
  if (options.model.numbers == NumberType::kFloat64) return Reference<double>(options, reads, order).run();
  return Reference<float>(options, reads, order).run();
}

}  // namespace

TrainResult reference_training(const TrainOptions& options, const Reads& reads) {
  return run_reference(options, reads, {});
}

TrainResult unpipelined_training(TrainOptions options, std::span<const std::int64_t> order) {
  options.model.partition.bounds = {0, options.model.network.layers.size()};
  const std::int64_t per_update = options.schedule.per_update(StageId{0});
  const auto newest = [&](std::int64_t microbatch, std::int64_t) {
    return ReadVersions{microbatch / per_update, microbatch / per_update};
  };
  return run_reference(options, newest, order);
}

}  // namespace plumb
