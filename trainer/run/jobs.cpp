#include "trainer/run/jobs.hpp"

#include <algorithm>

namespace plumb {
namespace {

/// Returns, by microbatch of the document, the job that it belongs to.
std::vector<std::size_t> jobs_of_microbatches(const RunPlan& plan) {
  std::vector<std::size_t> jobs(static_cast<std::size_t>(plan.program.num_microbatches), 0);
  for (InstrIndex at = 0; at < plan.program.size(); ++at) {
    const Action& action = plan.program.instrs[at].action;
    if (action.op != Op::kF || action.stage != StageId{0}) continue;
    plan.program.parts.for_each(
        action, [&](std::size_t microbatch, std::size_t, std::size_t) { jobs[microbatch] = index(action.replica); });
  }
  return jobs;
}

}  // namespace

std::size_t job_count(const RunPlan& plan) {
  const bool apart = plan.program.collectives.empty() && !plan.program.forward_only;
  return apart ? std::max<std::size_t>(1, plan.options.schedule.placement.size()) : 1;
}

std::vector<std::vector<double>> job_losses(const RunPlan& plan, const LossLog& losses) {
  const std::vector<std::size_t> jobs = jobs_of_microbatches(plan);
  const std::size_t updates = losses.means().size();
  const auto per_update = static_cast<std::size_t>(plan.options.schedule.per_update(StageId{0}));
  std::vector<std::vector<double>> means(job_count(plan), std::vector<double>(updates, 0));
  std::vector<std::size_t> counts(means.size(), 0);
  for (std::size_t k = 0; k < std::min(per_update, jobs.size()); ++k) ++counts[jobs[k]];
  for (std::size_t k = 0; k < updates * per_update; ++k) {
    const std::size_t job = jobs[k % jobs.size()];
    means[job][k / per_update] += losses.of_microbatch(k) / static_cast<double>(std::max<std::size_t>(1, counts[job]));
  }
  return means;
}

}  // namespace plumb
