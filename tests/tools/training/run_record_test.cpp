#include "tools/training/run_record.hpp"

#include <csignal>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"

TEST_SUITE_BEGIN("tools");

using namespace plumb;
using testing::file_text;
using testing::ScratchDirectory;

namespace {

TrainOptions recorded_run() {
  TrainOptions options;
  options.schedule = generate("1f1b", {.num_devices = 2, .num_microbatches = 2});
  options.model.shape = {2, 5};
  options.optimization.learning_rate.base = 0.25;
  return options;
}

}  // namespace

TEST_CASE("the losses of a run are in its files as soon as its updates end, whatever ends the run afterwards") {
  const ScratchDirectory scratch;
  const std::filesystem::path losses = scratch.path() / "l.csv";
  const std::filesystem::path log = scratch.path() / "log.csv";
  TrainOptions options = recorded_run();
  {
    RunRecord record(losses.string(), log.string());
    record.observe(options, 3, true);
    options.observation.on_update(0, 5.5);
    CHECK(file_text(losses) == "update,loss\n0,5.5\n");
    options.observation.on_update(1, 4.25);
    options.observation.evaluation.on_evaluation({.update = 2, .loss = 4.5, .accuracy = 0.125, .targets = 8});
  }
  CHECK(file_text(losses) == "update,loss\n0,5.5\n1,4.25\n");
  const std::string logged = file_text(log);
  CHECK(logged.starts_with("update,loss,learning_rate,seconds,"));
  CHECK(logged.find("\n0,5.5,0.25,") != std::string::npos);
  CHECK(logged.find("\n2,,,") != std::string::npos);
  CHECK(logged.ends_with(",,,4.5,0.125\n"));
}

TEST_CASE("a resumed run begins its file with the losses of the updates before, and ends with those of its result") {
  const ScratchDirectory scratch;
  const std::filesystem::path losses = scratch.path() / "l.csv";
  TrainOptions options = recorded_run();
  RunRecord record(losses.string(), "");
  record.observe(options, 3, true);
  options.observation.on_resume({3.5, 3.25});
  options.observation.on_update(2, 3.125);
  CHECK(file_text(losses) == "update,loss\n0,3.5\n1,3.25\n2,3.125\n");
  TrainResult result;
  result.losses = {3.5, 3.25, 3.125};
  result.jobs = {{.losses = {3.0, 3.0, 3.0}, .parameters = {}}};
  record.finish(result);
  CHECK(file_text(losses) == "update,loss,job0\n0,3.5,3\n1,3.25,3\n2,3.125,3\n");
}

TEST_CASE("a run that was observed leaves Ctrl-C as it was") {
  const auto before = std::signal(SIGINT, SIG_IGN);
  TrainOptions options = recorded_run();
  {
    RunRecord record("", "");
    record.observe(options, 1, true);
  }
  const bool is_ignored = std::signal(SIGINT, before) == SIG_IGN;
  CHECK(is_ignored);
}

TEST_SUITE_END();
