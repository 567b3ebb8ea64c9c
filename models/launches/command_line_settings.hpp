#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/launches/launch.hpp"
#include "models/launches/settings.hpp"
#include "models/launches/shell_script.hpp"

namespace plumb {

/// What a shell script launches: the options of one training program, and those of what starts it (torchrun, srun,
/// deepspeed) beside them.
struct LaunchCommand {
  Settings settings;
  std::string program;                       ///< "pretrain_gpt.py"; empty: the file holds options alone
  std::map<std::string, std::string> files;  ///< files that the script writes, by name
  bool blocking_launches = false;            ///< CUDA_LAUNCH_BLOCKING=1: the host waits for every kernel
  std::vector<LaunchNote> notes;
  ShellValues variables;  ///< when the script ends
};

/// Returns the launch with the most options among the commands of a script. `given` are its variables
/// and arguments ("1", "2", "@", "#") when it begins. Throws `Error` with the place for a script that cannot be
/// followed, and for one that launches nothing.
LaunchCommand launch_command(std::string_view script, const std::string& name, const ShellValues& given,
                             const ShellSource& source = {});

}  // namespace plumb
