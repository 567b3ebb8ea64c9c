#pragma once

#include <string>

#include "models/launches/launch.hpp"
#include "models/launches/pipeline_layout.hpp"
#include "models/launches/settings.hpp"

namespace plumb {

/// Returns the network that Megatron-LM builds of `settings` (renamed by `rename_to_megatron`): GPT with learned or
/// rotary positions, grouped or latent attention, experts in some or all layers, modules that predict further tokens,
/// or a pattern of Mamba, attention, MLP and expert layers. Notes what it assumes in `job`. Throws `Error` for what is
/// missing or is no such network.
Network megatron_network(const Settings& settings, LaunchJob& job);

/// Returns how Megatron-LM cuts it.
PipelineUnits megatron_units(const Network& network, const Settings& settings);

}  // namespace plumb
