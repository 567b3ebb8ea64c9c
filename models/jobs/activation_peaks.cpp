#include "models/jobs/activation_peaks.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "models/jobs/recomputed_layers.hpp"
#include "models/network/layer_shape.hpp"

namespace plumb {
namespace {

bool has_experts(const LayerSpec& layer) {
  return std::ranges::any_of(layer.body, [](const LayerSpec& inner) { return inner.kind == LayerKind::kMoe; });
}

/// Operations that run one after the other: of one layer, or, when recomputed, of a whole transformer layer.
struct Unit {
  std::vector<ActivationStep> steps;
  bool recomputed = false;
  std::int64_t input = 0;  ///< kept instead of what its steps keep
};

/// Lists the units of a stage of whose first `again` layers everything runs again.
std::vector<Unit> units_of(std::span<const LayerSpec> layers, const JobShape& shape, std::size_t again) {
  std::vector<Unit> units;
  for (std::size_t at = 0; at < layers.size(); ++at) {
    const LayerSpec& layer = layers[at];
    const bool full = at < again;
    std::vector<ActivationStep> steps = activation_steps(layer, shape);
    const bool experts = shape.parallelism.modules.has(RecomputeModule::kMoe) && has_experts(layer);
    const bool recomputed = (full || experts) && layer.kind == LayerKind::kResidual;
    if (full && runs_again_with_previous(layers, at)) {
      units.back().steps.insert(units.back().steps.end(), steps.begin(), steps.end());
      continue;
    }
    const std::int64_t input = shape.number_bytes() * shape.norm_tokens() * output_width(layer);
    const std::int64_t inputs = full ? 1 : 2;  // of the layer, and of what runs again behind its norm
    units.push_back({std::move(steps), recomputed, recomputed ? inputs * input : 0});
  }
  return units;
}

KeptBytes kept_by(const Unit& unit) {
  if (unit.recomputed) return {.for_input_grad = unit.input};
  KeptBytes sum;
  for (const ActivationStep& step : unit.steps) sum += step.kept;
  return sum;
}

/// Follows the bytes of a stage through its passes.
class PassWalk {
 public:
  explicit PassWalk(const std::vector<Unit>& units) : units_(units) {
    for (const Unit& unit : units) all_ += kept_by(unit);
  }

  PassPeaks peaks() {
    std::int64_t made = 0;
    for (const Unit& unit : units_) forward(unit, made);
    std::int64_t freed = 0;
    KeptBytes done;  // by I: what it has freed, and what it has yet to make
    for (auto unit = units_.rbegin(); unit != units_.rend(); ++unit) {
      again(*unit, freed, done);
      std::int64_t held = unit->recomputed ? recomputed_bytes(*unit) : 0;
      for (auto step = unit->steps.rbegin(); step != unit->steps.rend(); ++step) {
        backward(*step, freed - held, done, held);
        peaks_.weight_grad = std::max(peaks_.weight_grad, step->weight_grad);
        if (unit->recomputed) {
          held -= step->kept.from_forward();
        } else {
          freed += step->kept.from_forward();
          done += step->kept;
        }
      }
      freed += unit->input;
      done.for_input_grad += unit->input;
    }
    return peaks_;
  }

 private:
  static std::int64_t recomputed_bytes(const Unit& unit) {
    std::int64_t sum = 0;
    for (const ActivationStep& step : unit.steps) sum += step.kept.from_forward();
    return sum;
  }

  void forward(const Unit& unit, std::int64_t& made) {
    made += unit.input;
    for (const ActivationStep& step : unit.steps) {
      const std::int64_t own = step.kept.from_forward();
      if (!unit.recomputed) made += own;
      const std::int64_t alive = made + step.forward + (unit.recomputed ? own : 0);
      peaks_.forward = std::max(peaks_.forward, alive - all_.from_forward());
    }
  }

  /// The forward of a unit that runs once more, and keeps everything now.
  void again(const Unit& unit, std::int64_t freed, const KeptBytes& done) {
    if (!unit.recomputed) return;
    std::int64_t made = 0;
    for (const ActivationStep& step : unit.steps) {
      made += step.kept.from_forward();
      const std::int64_t alive = made + step.forward + unit.input;  // with the gradient that waits
      peaks_.backward = std::max(peaks_.backward, alive - freed);
      peaks_.input_grad = std::max(peaks_.input_grad, alive - done.for_input_grad);
    }
  }

  void backward(const ActivationStep& step, std::int64_t freed, const KeptBytes& done, std::int64_t held) {
    peaks_.backward = std::max(peaks_.backward, step.input_grad + step.weight_grad - freed);
    const std::int64_t waiting = all_.made_by_input_grad - done.made_by_input_grad;  // its own gradient among them
    peaks_.input_grad = std::max(peaks_.input_grad, step.input_grad + held - done.for_input_grad - waiting);
  }

  const std::vector<Unit>& units_;
  KeptBytes all_;
  PassPeaks peaks_;
};

std::vector<StashTensor> stash_of(const std::vector<Unit>& units) {
  using MadeBy = StashTensor::MadeBy;
  std::vector<StashTensor> stash;
  const auto keep = [&](const std::string& name, std::int64_t bytes, MadeBy made_by, LastUse last_use) {
    if (bytes == 0) return;
    const auto same = std::ranges::find_if(stash, [&](const StashTensor& tensor) {
      return tensor.name == name && tensor.made_by == made_by && tensor.last_use == last_use;
    });
    if (same == stash.end()) {
      stash.push_back({name, bytes, made_by, last_use});
    } else {
      same->bytes += bytes;
    }
  };
  for (const Unit& unit : units) {
    keep("layer.input", unit.input, MadeBy::kForward, LastUse::kInputGrad);
    if (unit.recomputed) continue;
    for (const ActivationStep& step : unit.steps) {
      const std::string name(step.name);
      keep(name, step.kept.for_input_grad, MadeBy::kForward, LastUse::kInputGrad);
      keep(name, step.kept.for_weight_grad, MadeBy::kForward, LastUse::kWeightGrad);
      keep(name + "_output_grad", step.kept.made_by_input_grad, MadeBy::kInputGrad, LastUse::kWeightGrad);
    }
  }
  return stash;
}

std::int64_t placeholder_bytes(std::span<const LayerSpec> layers, const JobShape& shape) {
  if (shape.parallelism.weight_gradients != WeightGradients::kPlaceholders) return 0;
  std::set<std::pair<std::int64_t, std::int64_t>> shapes;
  for (const LayerSpec& layer : layers) {
    for (const ActivationStep& step : activation_steps(layer, shape)) {
      if (step.product) shapes.insert({step.product->inputs, step.product->outputs});
    }
  }
  std::int64_t numbers = 0;
  for (const auto& [inputs, outputs] : shapes) numbers += inputs * outputs;
  return numbers * shape.number_bytes();
}

}  // namespace

std::size_t layers_again(std::span<const LayerSpec> layers, const JobShape& shape) {
  return shape.parallelism.recompute >= ActivationRecompute::kFull ? layers.size() : 0;
}

KeptBytes stage_kept(std::span<const LayerSpec> layers, const JobShape& shape) {
  KeptBytes sum;
  for (const Unit& unit : units_of(layers, shape, layers_again(layers, shape))) sum += kept_by(unit);
  return sum;
}

StageActivations stage_activations(std::span<const LayerSpec> layers, const JobShape& shape, std::size_t again) {
  const std::vector<Unit> units = units_of(layers, shape, again);
  return {.stash = stash_of(units),
          .peaks = PassWalk(units).peaks(),
          .placeholder_bytes = placeholder_bytes(layers, shape)};
}

}  // namespace plumb
