#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "models/stages/lay_out_stage.hpp"
#include "trainer/plan/train_options.hpp"
#include "trainer/stages/stage_module.hpp"
#include "trainer/stages/step_pass.hpp"

namespace plumb {

/// The whole network as one stage that keeps nothing, with given weights, for one number of samples at a time.
template <class T>
class Evaluator {
 public:
  /// `shape`: of what is evaluated at once. Throws `Error` when a parameter is missing.
  Evaluator(const TrainOptions& options, const MicrobatchShape& shape, const NamedValues& parameters)
      : layout_(stage_layout(options.model.network.layers, {0, options.model.network.layers.size()}, shape,
                             precision_of<T>(options.optimization.optimizer))),
        offsets_(parameter_offsets(layout_)),
        module_(layout_, shape),
        weights_(static_cast<std::size_t>(layout_.memory.updated_bytes()) / sizeof(T)),
        frozen_(static_cast<std::size_t>(layout_.memory.frozen_bytes) / sizeof(T)) {
    take(layout_.parameters, parameters, weights_.data());
    take(layout_.frozen, parameters, frozen_.data());
  }

  struct Counts {
    double loss = 0;
    std::int64_t correct = 0;
  };

  /// Returns the mean loss and rows whose largest logit is the target.
  Counts forward(const MicrobatchIds& ids) {
    StageStash stash(layout_, arena_);
    Counts counts;
    module_.forward({weights_.data(), frozen_.data()}, stash.begin_forward({}, StashLife::kForwardOnly), ids,
                    &counts.loss, &counts.correct);
    static_cast<void>(stash.end_forward());
    return counts;
  }

  /// Returns, by row, the class with the largest logit. `targets` of `ids` must be classes, of whatever kind. A head
  /// leaves (softmax - one at the target) / loss_tokens behind, from which the largest is read.
  std::vector<std::int32_t> predictions(const MicrobatchIds& ids) {
    StageStash stash(layout_, arena_);
    double loss = 0;
    const StageBlocks blocks = stash.begin_forward({}, StashLife::kForwardOnly);
    module_.forward({weights_.data(), frozen_.data()}, blocks, ids, &loss);
    const std::size_t last = layout_.steps.size() - 1;
    const auto head = step_pass<LayerPass<T>, T, T>(
        {layout_, offsets_, &TensorPlaces::f, weights_.data(), static_cast<T*>(nullptr), blocks}, last);
    const T* scores = head.bound().stash_values(0);
    const std::int64_t classes = layout_.steps[last].spec.vocabulary;
    const std::int64_t rows = layout_.shape.tokens();
    const auto one = static_cast<T>(1 / (ids.loss_tokens > 0 ? ids.loss_tokens : static_cast<double>(rows)));
    std::vector<std::int32_t> largest;
    for (std::int64_t row = 0; row < rows; ++row) {
      const T* score = scores + row * classes;
      const auto at = [&](std::int64_t j) { return j == ids.targets[row] ? score[j] + one : score[j]; };
      std::int64_t best = 0;
      for (std::int64_t j = 1; j < classes; ++j) {
        if (at(j) > at(best)) best = j;
      }
      largest.push_back(static_cast<std::int32_t>(best));
    }
    static_cast<void>(stash.end_forward());
    return largest;
  }

 private:
  static void take(std::span<const ParameterFacts> wanted, const NamedValues& parameters, T* weights) {
    for (const ParameterFacts& parameter : wanted) {
      if (parameters.contains(parameter.name)) continue;
      throw Error("evaluation: parameter '" + parameter.name + "' is missing");
    }
    set_parameters(wanted, parameters, weights);
  }

  StageLayout layout_;
  std::vector<std::int64_t> offsets_;
  StageModule<T> module_;
  std::vector<T> weights_;
  std::vector<T> frozen_;
  Arena arena_;
};

/// Samples [0, count) in blocks of at most `most` that differ by one sample at most: calls `block(first, size)`.
template <class Block>
void for_each_block(std::int64_t count, std::int64_t most, Block&& block) {
  const std::int64_t blocks = (count + most - 1) / most;
  for (std::int64_t i = 0; i < blocks; ++i) {
    const std::int64_t first = count * i / blocks;
    block(first, count * (i + 1) / blocks - first);
  }
}

/// One evaluator for each size of block that occurs (at most two).
template <class T>
class Evaluators {
 public:
  Evaluators(const TrainOptions& options, const NamedValues& parameters) : options_(options), parameters_(parameters) {}

  Evaluator<T>& of(std::int64_t samples) {
    for (auto& [size, evaluator] : made_) {
      if (size == samples) return *evaluator;
    }
    MicrobatchShape shape = options_.model.shape;
    shape.samples = samples;
    made_.emplace_back(samples, std::make_unique<Evaluator<T>>(options_, shape, parameters_));
    return *made_.back().second;
  }

 private:
  const TrainOptions& options_;
  const NamedValues& parameters_;
  std::vector<std::pair<std::int64_t, std::unique_ptr<Evaluator<T>>>> made_;
};

}  // namespace plumb
