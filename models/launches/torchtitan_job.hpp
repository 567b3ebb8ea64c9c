#pragma once

#include "models/launches/launch.hpp"
#include "models/launches/settings.hpp"

namespace plumb {

/// Returns the job that torchtitan trains with a configuration in TOML, with its present keys (`parallelism`) and its
/// older ones (`experimental`, `training.batch_size`). Throws `Error` with the place of a value that is wrong.
LaunchJob torchtitan_job(const Settings& settings);

}  // namespace plumb
