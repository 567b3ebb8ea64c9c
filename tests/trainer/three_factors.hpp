#pragma once

#include <string>
#include <utility>

#include "trainer/data/value_data.hpp"
#include "trainer/train.hpp"

namespace plumb {

/// A run of y = w3 w2 w1 x, one factor per stage, loss 0.5 (y - target)^2, w[0] = (0.9, 0.8, 0.7), SGD. `data` must
/// outlive it.
inline TrainOptions three_factors(const ValueData& data, Schedule schedule) {
  TrainOptions options;
  options.model.network = {.name = "three factors", .source = "", .sequence = 1, .samples = 1, .layers = {}};
  options.model.network.layers.push_back({.kind = LayerKind::kValues, .name = "x", .width = 1});
  for (const std::string name : {"w1", "w2", "w3"}) {
    options.model.network.layers.push_back(
        {.kind = LayerKind::kLinear, .name = name, .width = 1, .outputs = 1, .bias = false});
  }
  options.model.network.layers.push_back({.kind = LayerKind::kSquaredError, .name = "loss", .width = 1});
  options.model.partition = {{0, 2, 3, 5}};
  options.schedule = std::move(schedule);
  options.model.shape = {1, 1};
  options.data = &data;
  options.model.initial_parameters = {{"w1.weight", {0.9}}, {"w2.weight", {0.8}}, {"w3.weight", {0.7}}};
  options.optimization.optimizer = {.kind = OptimizerKind::kSgd, .momentum = 0, .weight_decay = 0};
  options.optimization.learning_rate.base = 0.05;
  options.model.numbers = NumberType::kFloat64;
  options.execution.executor = "serial";
  options.observation.keep_parameters = true;
  options.hooks.poison_memory = true;
  return options;
}

}  // namespace plumb
