#pragma once

#include <vector>

#include "models/jobs/activation_steps.hpp"

namespace plumb {

/// Takes away what the modules of the job compute again instead of keeping, and keeps what products read in the job's
/// format (one copy, by columns, with its scales). Of the steps of one layer that is no residual.
void set_kept(const LayerSpec& layer, const JobShape& shape, std::vector<ActivationStep>& steps);

}  // namespace plumb
