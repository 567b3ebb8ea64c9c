#include "tools/measured_steps/stage_times.hpp"

#include <algorithm>
#include <map>

#include "models/costs/time_limits.hpp"
#include "models/ground/error.hpp"
#include "models/ground/units.hpp"
#include "models/kernels/kernel_rates_io.hpp"
#include "tools/measured_steps/csv_table.hpp"

namespace plumb {
namespace {

constexpr std::string_view kPasses = "FIWB";

Ticks time_of(const StageTimes& times, char pass) {
  switch (pass) {
    case 'F':
      return times.f;
    case 'I':
      return times.i;
    case 'W':
      return times.w;
    default:
      return times.b;
  }
}

double seconds_of(const std::vector<StageTimes>& stages, const MeasuredStagePass& measured) {
  if (measured.stage) {
    if (*measured.stage >= stages.size()) {
      throw Error(measured.row_id + ": stage " + std::to_string(*measured.stage) + " was measured, but the run has " +
                  std::to_string(stages.size()) + " stages");
    }
    return static_cast<double>(time_of(stages[*measured.stage], measured.pass)) / kNsPerSecond;
  }
  double sum = 0;
  for (const StageTimes& stage : stages) sum += static_cast<double>(time_of(stage, measured.pass));
  return sum / static_cast<double>(stages.size()) / kNsPerSecond;
}

}  // namespace

std::vector<MeasuredStagePass> measured_stage_passes(std::string_view text, const std::string& file_name) {
  const CsvTable table(text, file_name);
  std::vector<MeasuredStagePass> passes;
  for (std::size_t at = 0; at < table.size(); ++at) {
    MeasuredStagePass one{.row_id = table.cell(at, "row_id"), .stage = {}};
    if (table.cell(at, "stage") != "mean") one.stage = static_cast<std::size_t>(table.whole(at, "stage"));
    const std::string& pass = table.cell(at, "pass");
    if (pass.size() != 1 || kPasses.find(pass) == std::string_view::npos) {
      throw Error(table.where(at) + ": pass: expected F, I, W or B, found '" + pass + "'");
    }
    one.pass = pass.front();
    one.seconds = table.number(at, "ms") / 1000;
    if (!(one.seconds > 0)) throw Error(table.where(at) + ": ms: expected a time above 0");
    passes.push_back(std::move(one));
  }
  return passes;
}

std::vector<StagePassOfJob> passes_of(const std::vector<MeasuredJob>& jobs,
                                      const std::vector<MeasuredStagePass>& passes) {
  std::map<std::string_view, std::size_t> by_id;
  for (std::size_t k = 0; k < jobs.size(); ++k) by_id.emplace(jobs[k].row.id, k);
  std::vector<StagePassOfJob> found;
  for (const MeasuredStagePass& pass : passes) {
    const auto job = by_id.find(pass.row_id);
    if (job != by_id.end()) found.push_back({job->second, pass});
  }
  return found;
}

std::vector<double> predicted_passes_s(const std::vector<MeasuredJob>& jobs, const std::vector<StagePassOfJob>& passes,
                                       const KernelRates* rates) {
  std::map<std::size_t, std::vector<StageTimes>> stages;
  std::vector<double> seconds;
  for (const StagePassOfJob& pass : passes) {
    auto known = stages.find(pass.job);
    if (known == stages.end()) {
      const MeasuredJob& job = jobs[pass.job];
      const KernelRates own = rates != nullptr ? *rates : kernel_rates_of(job.cluster.devices.front());
      known = stages.emplace(pass.job, measured_job_costs(job, own).costs.times).first;
    }
    seconds.push_back(seconds_of(known->second, pass.measured));
  }
  return seconds;
}

}  // namespace plumb
