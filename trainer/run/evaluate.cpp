#include "trainer/run/evaluate.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "trainer/run/evaluator.hpp"

namespace plumb {
namespace {

/// Samples whose statistics batch norm takes at once.
constexpr std::int64_t kNormedTogether = 32;

bool has_batch_norm(const std::vector<LayerSpec>& layers) {
  return std::ranges::any_of(layers, [](const LayerSpec& layer) {
    return layer.kind == LayerKind::kBatchNorm || has_batch_norm(layer.body) || has_batch_norm(layer.shortcut);
  });
}

template <class T>
Evaluation evaluated(const TrainOptions& options, const NamedValues& parameters) {
  const MicrobatchShape& shape = options.model.shape;
  std::int64_t samples = options.data->held_out_samples(shape.sequence);
  if (options.observation.evaluation.samples > 0) samples = std::min(samples, options.observation.evaluation.samples);
  if (samples < 1) throw Error("evaluation: no samples are held out, expected at least one");
  Evaluators<T> evaluators(options, parameters);
  Evaluation sum;
  const std::int64_t at_once = has_batch_norm(options.model.network.layers) ? kNormedTogether : shape.samples;
  for_each_block(samples, at_once, [&](std::int64_t first, std::int64_t size) {
    MicrobatchShape block = shape;
    block.samples = size;
    const Microbatch data = options.data->held_out(first, block);
    const double targets = static_cast<double>(block.tokens()) * counted_share(data);
    const auto counts = evaluators.of(size).forward(ids_of(data, targets));
    sum.loss += counts.loss * targets;
    sum.accuracy += static_cast<double>(counts.correct);
    sum.targets += std::llround(targets);
  });
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
