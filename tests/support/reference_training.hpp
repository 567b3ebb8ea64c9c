#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "trainer/plan/train_options.hpp"

namespace plumb {

/// Versions of a stage's weights that one microbatch reads: updates done before they came to be.
struct ReadVersions {
  std::int64_t forward = 0;
  std::int64_t backward = 0;
  bool recompute = false;       ///< the backward makes the activations again first, with its own version
  std::int64_t replay = -1;     ///< version of an R of its own, which makes the activations again; -1: there is none
  bool replay_follows = false;  ///< its input is the output of the stage before, as replayed
};

/// Training as a slow, obvious loop, to hold the executors against: no program, no devices, no messages. Microbatches
/// go through all stages one by one; every version of every stage's weights is kept to the end. `reads` says which
/// versions a microbatch reads in a stage; they must have been made by earlier updates. Reads network, partition,
/// shape, data, seed, optimizer, learning rate, number type and steps of `options`, and the schedule's microbatches per
/// update.
///
/// One stage that reads the newest versions is ordinary training without a pipeline.
TrainResult reference_training(const TrainOptions& options,
                               const std::function<ReadVersions(std::int64_t microbatch, std::int64_t stage)>& reads);

/// Ordinary training of the whole network in one piece. `order`: the microbatches of an update in the order in which
/// their gradients are added up (0 to m - 1); empty: ascending.
TrainResult unpipelined_training(TrainOptions options, std::span<const std::int64_t> order = {});

}  // namespace plumb
