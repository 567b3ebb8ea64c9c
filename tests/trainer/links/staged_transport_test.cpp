#include "trainer/links/staged_transport.hpp"

#include <array>
#include <string>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "tests/support/complete_timeline.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/support/silent_streams.hpp"
#include "tests/trainer/process_cases.hpp"
#include "tests/trainer/same_run.hpp"
#include "tests/trainer/thread_processes.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb {
namespace {

/// Every process has one device, which works through streams.
TrainResult train_with_streams(const TrainOptions& options) {
  const auto outcomes = train_in_processes(options, static_cast<std::size_t>(options.schedule.num_devices),
                                           [](std::size_t, TrainOptions& own) { own.execution.executor = "streams"; });
  if (outcomes.front().failure) std::rethrow_exception(outcomes.front().failure);
  return outcomes.front().result;
}

}  // namespace

TEST_CASE("a message that its device never finishes ends the run of all processes, with where the device stands") {
  TrainOptions options = tiny_run("1f1b", {.num_devices = 2, .num_microbatches = 2, .updates = 1});
  std::array<SilentStreams, 2> machines;
  const auto outcomes = train_in_processes(options, 2, [&](std::size_t rank, TrainOptions& own) {
    own.execution.executor = "streams";
    own.hooks.own_streams = &machines[rank];
    own.execution.streams.watchdog_s = 0.01;
  });
  CHECK_THROWS_WITH_AS(std::rethrow_exception(outcomes[0].failure), "train: no progress for 0 s; device 0 at 0F0",
                       Error);
  CHECK_THROWS_AS(std::rethrow_exception(outcomes[1].failure), RunAborted);
  CHECK(machines[0].abandoned);
}

TEST_CASE("processes whose device has streams give the bits, versions and peaks of one thread, for every schedule") {
  std::int64_t taken_back = 0;
  for_each_process_case(4, [&](const std::string& name, TrainOptions options) {
    CAPTURE(name);
    const TrainResult many = train_with_streams(options);
    const TrainResult one = train(options);
    check_same_run(many, one);
    taken_back += many.updates_rolled_back;
  });
  CHECK(taken_back > 0);
}

TEST_CASE("the timeline of processes with streams is one: complete, nothing is read before it was sent") {
  for (const std::string name : {"1f1b", "chimera", "pipemare"}) {
    CAPTURE(name);
    const TrainOptions options = small_process_run(name);
    testing::check_complete(train_with_streams(options).timeline.value(), options.schedule);
  }
}

TEST_CASE("a checkpoint of processes with streams goes on in one thread") {
  for (const std::string name : {"chimera", "pipemare"}) {
    CAPTURE(name);
    const testing::ScratchDirectory scratch;
    TrainOptions options = small_process_run(name);
    const TrainResult whole = train(options);
    options.observation.checkpoint = {.directory = scratch.path(), .resume = true};
    options.observation.on_update = [](std::int64_t update, double) {
      if (update == 3) throw Error("killed");
    };
    CHECK(testing::error_message([&] { train_with_streams(options); }) == "killed");
    options.observation.on_update = nullptr;
    CHECK(train(options).weights_hash == whole.weights_hash);
  }
}

}  // namespace plumb

TEST_SUITE_END();
