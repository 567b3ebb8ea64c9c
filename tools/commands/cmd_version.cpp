#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/version.hpp"
#include "tools/options/option_table.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {

ExitStatus run_version(const CommandLine& arguments, std::string (*abilities)()) {
  OptionTable parser("version", "Prints the version, and the back ends, executors and transports of this build.");
  if (!parse_command_line(parser, arguments)) return ExitStatus::kDone;
  print("plumbline " + std::string(kVersion) +
        "\n"
        "compiler   " __VERSION__ "\n" +
        (abilities == nullptr
             ? std::string("trainer    not in this program; `./plumbline train` in the source tree builds it\n")
             : abilities()));
  return ExitStatus::kDone;
}

}  // namespace plumb
