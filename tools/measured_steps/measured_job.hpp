#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/jobs/job_costs.hpp"
#include "sim/timeline/timeline.hpp"
#include "tools/measured_steps/measured_step.hpp"
#include "tools/measured_steps/step_recipe.hpp"

namespace plumb {

/// A row with the machine that its source describes; only the rates of its devices are missing for a prediction.
struct MeasuredJob {
  MeasuredStep row;
  Network network;
  Parallelism parallelism;
  Cluster cluster;
  bool overlap_messages = false;   ///< devices compute while messages between stages are on their way
  std::int64_t flash_version = 2;  ///< version of FlashAttention
  double kept_layers = 0;          ///< share of the layers whose products stay in 16 bits
  std::string layout{};            ///< layout as in `RecipeFacts`
};

/// What the rows of a table mean, where the files lie that a recipe names, and the machine that all rows ran on, where
/// that is given: each in its own size.
struct RecipeSource {
  StepRecipe recipe{};
  std::filesystem::path folder{};
  std::optional<Cluster> cluster{};
};

/// Returns the recipe of the table `folder`/NAME.csv, which is `folder`/NAME.json; without such a file: none. Throws
/// `Error`.
RecipeSource step_source(const std::filesystem::path& folder, const std::string& name);

/// Returns the built-in cluster that a row ran on, in its size; none for devices that have no cluster here.
std::optional<Cluster> step_cluster(const MeasuredStep& row, const RecipeFacts& facts = {});

/// Returns the job of a row, by its columns and by what is known of its source; or why it cannot be predicted.
std::variant<MeasuredJob, std::string> measured_job(const MeasuredStep& row, const RecipeSource& source);

/// Returns what the stages of a row cost. Throws `Error` for rows that contradict themselves.
JobCosts measured_job_costs(const MeasuredJob& job, const KernelRates& rates);

/// Returns its schedule, simulated with the costs of its job. Throws `Error` for rows that contradict themselves.
Timeline predicted_step(const MeasuredJob& job, const KernelRates& rates);

/// Returns the seconds of a step: its schedule, simulated with the costs of its job. Throws `Error` for rows that
/// contradict themselves.
double predicted_step_s(const MeasuredJob& job, const KernelRates& rates);

/// GiB of tensors at the peak of the device that the source reports: the fullest one, or the one that logs.
double predicted_memory_gib(const MeasuredJob& job, const KernelRates& rates);

/// Returns the seconds of the steps, for all of them at once, with the rates of each one's devices, or `rates` where
/// given.
std::vector<double> predicted_steps_s(const std::vector<MeasuredJob>& jobs, const KernelRates* rates = nullptr);

}  // namespace plumb
