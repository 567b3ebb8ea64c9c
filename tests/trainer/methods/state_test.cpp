#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "schedules/document/methods.hpp"
#include "tests/trainer/predicted_run.hpp"
#include "tests/trainer/training_cases.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb {
namespace {

struct MethodCase {
  std::string schedule;
  std::string methods;
  std::int64_t m = 2;
  std::map<std::string, std::string> options = {};
  OptimizerKind optimizer = OptimizerKind::kAdamW;
};

/// Every method at least once.
std::vector<MethodCase> method_cases() {
  return {{"pipemare", "t1:K=3,t2"},
          {"pipemare", "t2:D=0.3", 1, {{"timing", "slots"}}},
          {"pipemare", "t1,t2,t3:updates=2", 2, {{"timing", "slots"}}},
          {"spectrain", "", 1},
          {"spectrain", "t1", 2},
          {"spectrain", "", 1, {{"prediction", "released"}}},
          {"pipemare", "spectrain:released=1", 1, {{"timing", "slots"}}},
          {"xpipe", "t1"},
          {"pipeoptim", ""},
          {"pipemare", "msnag", 1},
          {"pipelined-backpropagation", "lwp"},
          {"pipelined-backpropagation", "lwp:difference=1:scale=2", 1},
          {"pipedream", "dc-asgd,t1", 1},
          {"pipedream-2bw", "dc-asgd:adaptive=1", 4},
          {"pipemare", "t2,dc-asgd:adaptive=1", 1},
          {"pipedream", "adaptive-momentum", 1, {}, OptimizerKind::kNAdam},
          {"pipemare", "gap-aware,t1", 1, {}, OptimizerKind::kSgd},
          {"pipemare", "lwp,spike", 2, {}, OptimizerKind::kSgd},
          {"pipedream", "nesterov,adaptive-braking", 2, {}, OptimizerKind::kSgd},
          {"hetpipe", ""},
          {"hetpipe", "", 4, {{"distance", "1"}, {"concurrent", "1"}}},
          {"avgpipe", "", 4},
          {"acco", "", 4},
          {"cyclic-dp", "", 8}};
}

TrainOptions run_of(const MethodCase& of) {
  const ScheduleParams params{.num_devices = 4, .num_microbatches = of.m, .updates = 6, .options = of.options};
  TrainOptions run = tiny_run(with_methods(generate(of.schedule, params), of.methods), 3, false);
  run.optimization.optimizer.kind = of.optimizer;
  return run;
}

struct KilledRun : std::runtime_error {
  KilledRun() : std::runtime_error("killed") {}
};

}  // namespace

TEST_CASE("memory with methods is the predicted one, class by class") {
  for (const MethodCase& of : method_cases()) {
    CAPTURE(of.schedule);
    CAPTURE(of.methods);
    const TrainOptions run = run_of(of);
    check_same_memory(train(run).timeline.value(), predicted(run));
  }
}

TEST_CASE("a run with methods that died goes on to the bits of the run that did not") {
  namespace fs = std::filesystem;
  for (const MethodCase& of : method_cases()) {
    CAPTURE(of.schedule);
    CAPTURE(of.methods);
    TrainOptions options = run_of(of);
    const TrainResult whole = train(options);
    options.execution.executor = "threads";
    CHECK(train(options).weights_hash == whole.weights_hash);
    const fs::path directory = fs::temp_directory_path() / ("plumbline-methods-" + std::to_string(getpid()));
    fs::remove_all(directory);
    options.execution.executor = "serial";
    options.observation.checkpoint = {.directory = directory, .resume = true};
    TrainOptions dies = options;
    dies.observation.on_update = [](std::int64_t update, double) {
      if (update == 4) throw KilledRun();
    };
    CHECK_THROWS_AS(train(dies), KilledRun);
    CHECK(fs::exists(directory));
    CHECK(train(options).weights_hash == whole.weights_hash);
    fs::remove_all(directory);
  }
}

}  // namespace plumb

TEST_SUITE_END();
