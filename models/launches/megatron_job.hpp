#pragma once

#include "models/launches/launch.hpp"
#include "models/launches/settings.hpp"

namespace plumb {

/// Returns the job that Megatron-LM, or a system that builds on Megatron Core, runs with `settings` (by the names that
/// `rename_to_megatron` gives them). Whatever is not read is noted by its class. Throws `Error` with the place of a
/// value that is wrong, and for what is missing.
/// `is_command_line`: they are flags of a command, of which none is there by default.
LaunchJob megatron_job(const Settings& settings, bool is_command_line = false);

}  // namespace plumb
