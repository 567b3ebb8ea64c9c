#pragma once

#include <cstddef>
#include <vector>

#include "trainer/plan/run_plan.hpp"
#include "trainer/transport/loss_log.hpp"

namespace plumb {

/// Jobs of a run: copies of the model that nothing brings together, each with microbatches, updates and weights of its
/// own (the schedule `mlora`); 1 where there is one model.
std::size_t job_count(const RunPlan& plan);

/// Returns the mean loss over the microbatches of each job, by job and update, as far as the losses of all jobs are
/// known.
std::vector<std::vector<double>> job_losses(const RunPlan& plan, const LossLog& losses);

}  // namespace plumb
