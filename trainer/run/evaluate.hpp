#pragma once

#include "trainer/plan/train_options.hpp"

namespace plumb {

/// Runs the forward of the whole network over the held-out data with the given weights. Every sample counts, and the
/// result does not depend on the microbatches of the run. Reads `model`, `data` and `observation.evaluation.samples` of
/// `options`. Batch norm, which is trained with the statistics of a microbatch, takes those of a fixed number of
/// held-out samples (32, or one less so that blocks are equally large). Throws `Error` when nothing is held out or a
/// parameter is missing.
Evaluation evaluate(const TrainOptions& options, const NamedValues& parameters);

}  // namespace plumb
