// Trains a small pipeline with checkpoints in the directory given and prints the hash of its weights: the victim of
// kill_and_resume.sh. Usage: kill_and_resume SCHEDULE EXECUTOR [DIRECTORY]

#include <iostream>
#include <string>

#include "training_cases.hpp"

int main(int argc, char** argv) {
  using namespace plumb;
  if (argc < 3) return 2;
  const std::string schedule = argv[1];
  const bool asynchronous = schedule == "pipedream" || schedule == "pipemare";
  TrainOptions options = tiny_run(
      schedule, {.num_devices = 4, .num_microbatches = asynchronous ? 2 : 4, .updates = asynchronous ? 40 : 4}, 4);
  options.steps = 40;
  options.executor = argv[2];
  options.numbers = NumberType::kFloat32;
  options.checkpoint.resume = true;
  if (argc > 3) options.checkpoint.directory = argv[3];
  std::cout << train(options).weights_hash << std::endl;
  return 0;
}
