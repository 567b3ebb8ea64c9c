#include <sstream>

#include "tools/arguments.hpp"
#include "tools/command.hpp"
#include "tools/output_file.hpp"

namespace plumb {

ExitStatus run_version(const CommandLine& arguments) {
  ArgumentParser parser("version", "Prints the version and what this build can do.");
  if (!parser.parse(arguments)) return ExitStatus::kDone;
  std::ostringstream out;
  out << "plumbline " PLUMB_VERSION
         "\n"
         "compiler   " __VERSION__
         "\n"
         "back ends  cpu\n"
         "executors  serial threads\n";
  print(out.str());
  return ExitStatus::kDone;
}

}  // namespace plumb
