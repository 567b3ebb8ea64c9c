
#include "models/ground/text_stream.hpp"
#include "tools/training/training.hpp"
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

std::string trainer_abilities() {
  TextStream out;
  out << "back ends ";
  for (const Backend& backend : backends()) out << ' ' << backend.name;
  out << "\nexecutors ";
  for (const Executor& executor : executors()) out << ' ' << executor.name;
  out << "\ntransports local" << process_transports() << '\n';
  return out.str();
}

}  // namespace plumb
