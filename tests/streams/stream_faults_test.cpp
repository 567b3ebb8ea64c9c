#include <stdexcept>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "tests/streams/stream_cases.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/support/silent_streams.hpp"

TEST_SUITE_BEGIN("streams");

namespace plumb {
namespace {

void run_and_die(TrainOptions options, std::int64_t at) {
  options.observation.on_update = [at](std::int64_t update, double) {
    if (update == at) throw std::runtime_error("killed");
  };
  CHECK_THROWS_WITH_AS(train(options), "killed", std::runtime_error);
}

}  // namespace

TEST_CASE("a run without progress ends with the action at which every device stands") {
  TrainOptions options = tiny_run("1f1b", {.num_devices = 2, .num_microbatches = 2, .updates = 1});
  SilentStreams machine;
  options.execution.executor = "streams";
  options.hooks.own_streams = &machine;
  options.execution.streams.watchdog_s = 0.01;
  CHECK_THROWS_WITH_AS(train(options), doctest::Contains("no progress for 0 s; device 0 at 0F0, device 1 at 1F0"),
                       Error);
  CHECK(machine.abandoned);
}

TEST_CASE("runs with streams are saved and resumed in the middle, and go on without streams, with the same bits") {
  for (const std::string name : {"1f1b", "chimera", "pipedream", "pipemare", "zb-v"}) {
    CAPTURE(name);
    const ScheduleSpec& spec = *std::ranges::find(schedule_catalogue(), name, &ScheduleSpec::name);
    auto options = tiny_run(spec, {.num_devices = 2, .num_microbatches = 2, .updates = 5}, false);
    REQUIRE(options);
    const TrainResult whole = train(*options);
    for (const std::string after : {"streams", "serial"}) {
      CAPTURE(after);
      const testing::ScratchDirectory scratch;
      options->execution.executor = "streams";
      options->observation.checkpoint.directory = scratch.path();
      options->observation.checkpoint.resume = true;
      run_and_die(*options, 2);
      options->execution.executor = after;
      const TrainResult resumed = train(*options);
      CHECK(resumed.weights_hash == whole.weights_hash);
      CHECK(resumed.losses == whole.losses);
    }
    options->execution.executor = "serial";
    options->observation.checkpoint = {};
  }
}

}  // namespace plumb

TEST_SUITE_END();
