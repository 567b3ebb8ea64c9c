#include "tools/commands/command.hpp"
#include "tools/options/arguments.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {

ExitStatus run_version(const CommandLine& arguments, std::string (*abilities)()) {
  ArgumentParser parser("version", "Prints the version, and the back ends, executors and transports of this build.");
  if (!parser.parse(arguments)) return ExitStatus::kDone;
  print("plumbline " PLUMB_VERSION
        "\n"
        "compiler   " __VERSION__ "\n" +
        (abilities == nullptr
             ? std::string("trainer    not in this program; `./plumbline train` in the source tree builds it\n")
             : abilities()));
  return ExitStatus::kDone;
}

}  // namespace plumb
