#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/launches/read_launch.hpp"
#include "tools/options/plan_question.hpp"
#include "tools/plans/plan_commands.hpp"

namespace plumb {

/// One setting of a launch file that becomes another one.
struct LaunchChange {
  std::vector<std::string> before{};  ///< name and values as the file spells them; none: it is added
  std::vector<std::string> after{};   ///< name and values; none: it is removed
  std::string place{};                ///< in the file: "train.sh:12"; empty for what is added
};

/// The fewest changes of `now` (one at a time: none of them can be left out) after which `runs` accepts it: settings
/// become those of `then`, or are removed where `then` has none and the network stays as it is. Empty where no such
/// changes are accepted.
std::optional<std::vector<LaunchChange>> launch_changes(const LaunchSettings& now, const LaunchSettings& then,
                                                        const std::function<bool(const LaunchSettings&)>& runs);

/// What to change in the launch file that said `now`, so that it runs `plan`: a line per setting; refused where its
/// system cannot say the plan.
PlanCommand launch_changes_text(const LaunchSettings& now, const PlanQuestion& question, const SimulatedPlan& plan);

}  // namespace plumb
