#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/measured_steps/measured_job.hpp"

namespace plumb {

/// What one pass of a stage took in a measured run: F, I, W, or B, which is I and W as one.
struct MeasuredStagePass {
  std::string row_id;                ///< the run (`MeasuredStep::id`)
  std::optional<std::size_t> stage;  ///< without a value: the mean over all stages
  char pass = 'F';
  double seconds = 0;
};

/// Returns the rows `row_id,stage,pass,ms`; a stage is a number from 0, or "mean". Throws `Error` ("stage-times.csv:7:
/// ...").
std::vector<MeasuredStagePass> measured_stage_passes(std::string_view text, const std::string& file_name);

/// A measured pass of one of `jobs`.
struct StagePassOfJob {
  std::size_t job = 0;
  MeasuredStagePass measured;
};

/// Keeps the `passes` whose run is among `jobs`.
std::vector<StagePassOfJob> passes_of(const std::vector<MeasuredJob>& jobs,
                                      const std::vector<MeasuredStagePass>& passes);

/// Returns the seconds of every pass, with the rates of each job's devices, or `rates` where given. Throws `Error` for
/// a stage that the job has not.
std::vector<double> predicted_passes_s(const std::vector<MeasuredJob>& jobs, const std::vector<StagePassOfJob>& passes,
                                       const KernelRates* rates = nullptr);

}  // namespace plumb
