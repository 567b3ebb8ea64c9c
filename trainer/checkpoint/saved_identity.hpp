#pragma once

#include "models/ground/json_reader.hpp"
#include "trainer/run/training_run.hpp"

namespace plumb {

/// Throws `Error`, with the name of what differs, unless `run` computes what the run of the saved `state` computed. A
/// synchronous run may go on for more steps, and one with nothing under way in numbers of another type but float64.
void check_saved_identity(const JsonValue& state, const TrainingRun& run);

}  // namespace plumb
