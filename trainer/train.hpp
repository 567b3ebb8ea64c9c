#pragma once

#include "trainer/plan/train_options.hpp"
#include "trainer/plan/train_result.hpp"

namespace plumb {

/// Trains a network by a schedule. With several processes, all of them call this with equal options; the first process
/// has the result, writes the checkpoints and calls `on_update`, and throws the error that all of them found before the
/// start (`ProcessGroup::agree`). Throws `Error` when the options contradict each other or ask for what the trainer
/// cannot do, and whatever a device throws.
TrainResult train(const TrainOptions& options);

}  // namespace plumb
