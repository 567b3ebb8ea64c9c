// Trains a small pipeline with checkpoints in the directory given and prints the hash of its weights: the victim of
// kill_and_resume.sh, and of mpi_test.sh as one of several processes. Usage: kill_and_resume SCHEDULE
// EXECUTOR|mpi|LIBRARY [DIRECTORY [MILLISECONDS-PER-UPDATE]]; mpi, or a stand-in for NCCL: one of several processes.

#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "tests/trainer/training_cases.hpp"
#include "trainer/links/nccl_library.hpp"
#include "trainer/processes/mpi_processes.hpp"
#include "trainer/processes/process_group.hpp"

int main(int argc, char** argv) {
  using namespace plumb;
  if (argc < 3) return 2;
  const std::string schedule = argv[1];
  const bool asynchronous = schedule == "pipedream" || schedule == "pipemare";
  TrainOptions options = tiny_run(
      schedule, {.num_devices = 4, .num_microbatches = asynchronous ? 2 : 4, .updates = asynchronous ? 40 : 4}, 4);
  options.optimization.steps = 40;
  std::unique_ptr<ProcessGroup> group;
  std::optional<nccl::Library> links;
  const std::string executor = argv[2];
  const bool by_links = executor.ends_with(nccl::kLibraryFile);
  if (executor == "mpi" || by_links) {
    group = std::make_unique<ProcessGroup>(join_mpi_job());
    options.execution.processes = group.get();
    options.execution.executor = by_links ? "streams" : "threads";
    if (by_links) options.execution.links = &links.emplace(nccl::load_library(executor));
  } else {
    options.execution.executor = executor;
  }
  options.model.numbers = NumberType::kFloat32;
  options.observation.checkpoint.resume = true;
  if (argc > 3) options.observation.checkpoint.directory = argv[3];
  if (argc > 4) {
    const std::chrono::milliseconds pause(std::stoi(argv[4]));
    options.observation.on_update = [pause](std::int64_t, double) { std::this_thread::sleep_for(pause); };
  }
  const TrainResult result = train(options);
  if (!group || group->is_first()) std::cout << result.weights_hash << std::endl;
  return 0;
}
