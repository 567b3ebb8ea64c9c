#pragma once

#include "trainer/plan/train_options.hpp"

namespace plumb {

/// Runs the forward of the whole network over the held-out data with the given weights, in microbatches of the run's
/// shape; samples that do not fill a last microbatch are left out. Reads `model`, `data` and
/// `observation.evaluation.samples` of `options`. Batch norm takes the statistics of the evaluated microbatch, as in
/// training. Throws `Error` when nothing is held out or a parameter is missing.
Evaluation evaluate(const TrainOptions& options, const NamedValues& parameters);

}  // namespace plumb
