#pragma once

#include "trainer/plan/train_options.hpp"

namespace plumb {

/// Forward over the held-out data with the given weights, in one piece and in microbatches of the run's shape; what
/// does not fill a last one is left out. Reads network, shape, data, number type and `evaluation.samples` of `options`.
/// Batch norm takes the statistics of the evaluated microbatch, as in training. Throws `Error` when nothing is held out
/// or a parameter is missing.
Evaluation evaluate(const TrainOptions& options, const NamedValues& parameters);

}  // namespace plumb
