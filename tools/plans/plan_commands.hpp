#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/launches/launch.hpp"
#include "models/launches/read_launch.hpp"
#include "sim/plan_search/placed_schedule.hpp"
#include "tools/options/plan_question.hpp"

namespace plumb {

/// `launch` is what a launch of `plan` is read back as. Throws `Error` with the first thing that it says otherwise than
/// `plan` was priced: what the system's own settings cannot express.
void check_launch(const LaunchJob& launch, const PlanQuestion& question, const SimulatedPlan& plan);

/// How the answer is shown.
struct PlanShown {
  std::string document = "plan.json";  ///< where the schedule is written; empty: nowhere
  bool written = false;                ///< it is
  std::string network{};               ///< as the user named them; empty: the launch file says it
  std::string cluster{};
  /// The options that name the launch file of the job and what is set in it; empty: there is none. How that job
  /// computes counts where no other option says it.
  std::vector<std::pair<std::string, std::string>> launched{};
  std::shared_ptr<const LaunchSettings> said{};  ///< by that file; none: there is none
  /// Options of the user that a simulation must repeat, and their values: "--sequence", "4096".
  std::vector<std::pair<std::string, std::string>> repeated{};
};

/// A command that can be copied, or why there is none.
struct PlanCommand {
  std::string text{};
  std::string refused{};  ///< why it cannot be said; empty: `text` is it
  std::string note{};     ///< what the system does otherwise, by little; empty: nothing
  std::string csv{};  ///< the order of the schedule, for a file `schedule.csv` that `text` names; empty: it names none
};

/// The `plumbline simulate` that takes the step of `plan`, with its peak and verdict. By the name of its schedule where
/// that makes the same lists, otherwise from the document `shown.document`.
PlanCommand simulate_command(const PlanQuestion& question, const SimulatedPlan& plan, const PlanShown& shown);

/// The launch of `plan` by Megatron-LM with these options of its network. Throws `Error` for what no option says.
std::string megatron_launch(const PlanQuestion& question, const SimulatedPlan& plan, const std::string& network);
/// The launch of `plan` by Megatron-LM's pretrain_gpt.py: every option that decides its network, ranks and pipeline.
PlanCommand megatron_command(const PlanQuestion& question, const SimulatedPlan& plan);
/// The configuration (TOML) of `plan` for torchtitan.
PlanCommand torchtitan_command(const PlanQuestion& question, const SimulatedPlan& plan);
/// The configuration (JSON) of `plan` for DeepSpeed, which says nothing of the network.
PlanCommand deepspeed_command(const PlanQuestion& question, const SimulatedPlan& plan);

/// That of the system that the plan is for; none for PyTorch, which reads no files, and where no system was named.
std::optional<PlanCommand> launch_command(const PlanQuestion& question, const SimulatedPlan& plan);

}  // namespace plumb
