#pragma once

#include <memory>
#include <string>

#include "tools/training/train_arguments.hpp"
#include "trainer/train.hpp"

namespace plumb {

/// A training run as a command says it: "train pipemare -p 4 -m 2 --network gpt-tiny --steps 50". What is written while
/// it runs (reports, checkpoints) is no part of it.
struct TrainRun {
  TrainOptions options;
  std::shared_ptr<const TrainingData> data;  ///< what `options.data` points to
  FinalTrial trial;                          ///< of the final weights
};

/// Throws `Error` for what the command contradicts.
TrainRun parse_train_run(const std::string& command);

/// Parses and trains.
TrainResult train_as(const std::string& command);

}  // namespace plumb
