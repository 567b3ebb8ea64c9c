#include "trainer/run/evaluate.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/ground/error.hpp"
#include "models/stages/lay_out_stage.hpp"
#include "trainer/stages/stage_module.hpp"

namespace plumb {
namespace {

/// The whole network as one stage that keeps nothing.
template <class T>
class Evaluator {
 public:
  Evaluator(const TrainOptions& options, const NamedValues& parameters)
      : layout_(stage_layout(options.model.network.layers, {0, options.model.network.layers.size()},
                             options.model.shape, precision_of<T>(options.optimization.optimizer))),
        module_(layout_, options.model.shape),
        weights_(static_cast<std::size_t>(layout_.memory.weight_bytes) / sizeof(T)) {
    for (const ParameterFacts& parameter : layout_.parameters) {
      if (!parameters.contains(parameter.name))
        throw Error("evaluation: parameter '" + parameter.name + "' is missing");
    }
    set_parameters(std::span<const ParameterFacts>(layout_.parameters), parameters, weights_.data());
  }

  struct Counts {
    double loss = 0;
    std::int64_t correct = 0;
  };

  Counts forward(const MicrobatchIds& ids) {
    StageStash stash(layout_, arena_);
    Counts counts;
    module_.forward(weights_.data(), stash.begin_forward({}, StashLife::kForwardOnly), ids, &counts.loss,
                    &counts.correct);
    static_cast<void>(stash.end_forward());
    return counts;
  }

 private:
  StageLayout layout_;
  StageModule<T> module_;
  std::vector<T> weights_;
  Arena arena_;
};

template <class T>
Evaluation evaluated(const TrainOptions& options, const NamedValues& parameters) {
  const MicrobatchShape& shape = options.model.shape;
  std::int64_t samples = options.data->held_out_samples(shape.sequence);
  if (options.observation.evaluation.samples > 0) samples = std::min(samples, options.observation.evaluation.samples);
  if (samples < shape.samples) {
    throw Error("evaluation: " + std::to_string(samples) + " samples are held out, expected at least a microbatch of " +
                std::to_string(shape.samples));
  }
  Evaluator<T> evaluator(options, parameters);
  Evaluation sum;
  for (std::int64_t first = 0; first + shape.samples <= samples; first += shape.samples) {
    const Microbatch data = options.data->held_out(first, shape);
    const double targets = static_cast<double>(shape.tokens()) * counted_share(data);
    const auto counts = evaluator.forward(ids_of(data, targets));
    sum.loss += counts.loss * targets;
    sum.accuracy += static_cast<double>(counts.correct);
    sum.targets += std::llround(targets);
  }
  sum.loss /= static_cast<double>(sum.targets);
  sum.accuracy /= static_cast<double>(sum.targets);
  return sum;
}

}  // namespace

Evaluation evaluate(const TrainOptions& options, const NamedValues& parameters) {
  return options.model.numbers == NumberType::kFloat64 ? evaluated<double>(options, parameters)
                                                       : evaluated<float>(options, parameters);
}

}  // namespace plumb
