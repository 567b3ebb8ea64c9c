// Trains small pipelines in as many processes as they have devices, and again on one thread: weights, losses, versions
// and peaks of memory must be the same. Started by mpirun -np P. Usage: mpi_equality [LIBRARY]: with messages by links
// of this library, a stand-in for NCCL.

#include <algorithm>
#include <iostream>
#include <optional>
#include <string>

#include "tests/trainer/process_cases.hpp"
#include "trainer/links/nccl_library.hpp"
#include "trainer/processes/mpi_processes.hpp"
#include "trainer/processes/process_group.hpp"

namespace plumb {
namespace {

/// What of `many` is not as in `one`; empty when nothing.
std::string difference(const TrainResult& many, const TrainResult& one) {
  if (many.weights_hash != one.weights_hash) return "weights";
  if (many.losses != one.losses) return "losses";
  if (many.versions != one.versions) return "versions";
  const bool same_peaks =
      std::ranges::equal(many.timeline->devices, one.timeline->devices, {}, &DeviceSummary::peak_memory_by_class,
                         &DeviceSummary::peak_memory_by_class);
  return same_peaks ? "" : "peak memory";
}

/// How many runs differ; only the first process finds out.
int count_differences(ProcessGroup& group, const nccl::Library* links) {
  int differing = 0;
  for_each_process_case(static_cast<std::int32_t>(group.size()), [&](const std::string& name, TrainOptions options) {
    options.execution.executor = links == nullptr ? "threads" : "streams";
    options.execution.processes = &group;
    options.execution.links = links;
    const TrainResult many = train(options);
    if (!group.is_first()) return;
    options.execution.executor = "serial";
    options.execution.processes = nullptr;
    options.execution.links = nullptr;
    const std::string differs = difference(many, train(options));
    if (!differs.empty()) ++differing;
    std::cout << name << ": " << (differs.empty() ? "the same" : differs + " DIFFER") << std::endl;
  });
  return differing;
}

}  // namespace
}  // namespace plumb

int main(int argc, char** argv) {
  plumb::ProcessGroup group(plumb::join_mpi_job());
  std::optional<plumb::nccl::Library> links;
  if (argc > 1) links = plumb::nccl::load_library(argv[1]);
  return plumb::count_differences(group, links ? &*links : nullptr) == 0 ? 0 : 1;
}
