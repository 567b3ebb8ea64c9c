#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/network/network.hpp"
#include "schedules/document/schedule.hpp"
#include "sim/runtimes/run_rules.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/training/train_arguments.hpp"

namespace plumb {

/// Options of the back end paced: the machine that a run behaves as, how messages travel, and how slowly.
struct PaceArguments {
  std::string cluster;
  RunRules messages;
  std::optional<double> dilation;

  /// Declares the options; this object must outlive the parsing.
  void add_to(OptionTable& parser);

  /// Makes the costs those of the model that `training` names, and gives `training` the network of a profile, or with
  /// abstract costs alone a chain of small blocks, where it names none. Nothing with another back end. Throws `Error`
  /// for options that do not go together.
  void complete(CostArguments& costs, TrainArguments& training) const;

  /// Gives `options` the times, the cut and the links that belong to `input`, which must outlive the run.
  void apply(const PricedPipeline& input, const Schedule& schedule, TrainOptions& options) const;
};

}  // namespace plumb
