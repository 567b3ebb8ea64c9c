#include <sstream>

#include "tools/commands/command.hpp"
#include "tools/options/arguments.hpp"
#include "tools/terminal/output_file.hpp"
#include "trainer/backends/backends.hpp"
#include "trainer/executors/executor.hpp"
#include "trainer/links/nccl_library.hpp"
#include "trainer/processes/mpi_processes.hpp"

namespace plumb {
namespace {

/// NCCL is looked for when the program runs.
std::string process_transports() {
  if (!has_mpi()) return "";
  return std::string(" mpi nccl") + (nccl::why_no_library().empty() ? "" : " (no libnccl.so.2 was found)");
}

}  // namespace

ExitStatus run_version(const CommandLine& arguments) {
  ArgumentParser parser("version", "Prints the version, and the back ends, executors and transports of this build.");
  if (!parser.parse(arguments)) return ExitStatus::kDone;
  std::ostringstream out;
  out << "plumbline " PLUMB_VERSION
         "\n"
         "compiler   " __VERSION__
         "\n"
         "back ends ";
  for (const Backend& backend : backends()) out << ' ' << backend.name;
  out << "\nexecutors ";
  for (const Executor& executor : executors()) out << ' ' << executor.name;
  out << "\ntransports local" << process_transports() << '\n';
  print(out.str());
  return ExitStatus::kDone;
}

}  // namespace plumb
