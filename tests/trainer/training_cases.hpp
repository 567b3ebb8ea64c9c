#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/stages/partition.hpp"
#include "schedules/catalogue/registry.hpp"
#include "tests/support/catalogue_walk.hpp"
#include "tests/trainer/tiny_networks.hpp"
#include "trainer/data/text_data.hpp"
#include "trainer/train.hpp"

namespace plumb {

/// A byte-level transformer that a test trains in no time: enough layers for 16 stages when `blocks` is 7.
inline Network tiny_language_model(std::int32_t blocks, bool tied) {
  Network network;
  network.name = "tiny";
  network.sequence = 5;
  network.layers.push_back(
      {.kind = LayerKind::kEmbedding, .name = "embedding", .width = 8, .vocabulary = 256, .positions = 5});
  for (std::int32_t i = 0; i < blocks; ++i) {
    const std::string block = "block" + std::to_string(i);
    network.layers.push_back(residual(
        block + ".a", {{.kind = LayerKind::kLayerNorm, .name = block + ".norm1", .width = 8},
                       {.kind = LayerKind::kAttention, .name = block + ".attention", .width = 8, .heads = 2}}));
    network.layers.push_back(
        residual(block + ".m", {{.kind = LayerKind::kLayerNorm, .name = block + ".norm2", .width = 8},
                                {.kind = LayerKind::kMlp, .name = block + ".mlp", .width = 8, .hidden = 12}}));
  }
  network.layers.push_back({.kind = LayerKind::kLayerNorm, .name = "norm", .width = 8});
  network.layers.push_back({.kind = LayerKind::kHead, .name = "head", .width = 8, .vocabulary = 256, .tied = tied});
  return network;
}

inline const TextData& test_text() {
  static const TextData text(
      "A pipeline is a line of workers, each with one part of the work; what matters is that nobody waits for long. "
      "He who asks how long is told: count the bubbles, divide by the line, and never trust a clock.");
  return text;
}

/// Blocks of the tiny network that give every stage a layer, at least 2.
inline std::int32_t blocks_for(std::int32_t stages) { return std::max(2, (stages - 2) / 2); }

/// A run of `schedule` on the tiny network, in double, on one thread.
inline TrainOptions tiny_run(Schedule schedule, std::int32_t blocks, bool tied) {
  TrainOptions options;
  options.model.network = tiny_language_model(blocks, tied);
  options.schedule = std::move(schedule);
  options.model.partition = equal_partition(options.model.network, options.schedule.num_stages);
  options.model.shape = {2, 5};
  options.data = &test_text();
  options.model.seed = 3;
  options.optimization.learning_rate.base = 0.01;
  options.model.numbers = NumberType::kFloat64;
  options.execution.executor = "serial";
  options.observation.keep_parameters = true;
  options.hooks.poison_memory = true;
  return options;
}

inline TrainOptions tiny_run(const std::string& name, const ScheduleParams& params, std::int32_t blocks = 2,
                             bool tied = false) {
  return tiny_run(generate(name, params), blocks, tied);
}

/// Its stages are no chain, so that the trainer refuses it.
inline bool divides_vocabulary(const ScheduleSpec& spec) {
  return generate(spec.name, {.num_devices = 4, .num_microbatches = 12}).vocabulary.has_value();
}

/// A run of a schedule of the catalogue in the smallest form with p devices; asynchronous ones as long as they want.
/// Nothing where it does not do p, or divides the vocabulary.
inline std::optional<TrainOptions> tiny_run(const ScheduleSpec& spec, ScheduleParams params, bool tied = false) {
  if (!spec.synchronous) params.updates = 0;
  auto schedule = testing::smallest(spec, params);
  if (!schedule || schedule->vocabulary) return std::nullopt;
  const std::int32_t blocks = blocks_for(schedule->num_stages);
  return tiny_run(*std::move(schedule), blocks, tied && spec.synchronous);
}

}  // namespace plumb
