#include "trainer/staged_transport.hpp"

#include <string>

#include <doctest/doctest.h>

#include "models/error.hpp"
#include "process_cases.hpp"
#include "scratch_directory.hpp"
#include "tests/support/complete_timeline.hpp"
#include "tests/support/error_message.hpp"
#include "thread_processes.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb {
namespace {

/// Every process has one device, which works behind streams.
TrainResult train_behind_streams(const TrainOptions& options) {
  const auto outcomes = train_in_processes(options, static_cast<std::size_t>(options.schedule.num_devices),
                                           [](std::size_t, TrainOptions& own) { own.executor = "streams"; });
  if (outcomes.front().failure) std::rethrow_exception(outcomes.front().failure);
  return outcomes.front().result;
}

TrainOptions small_staged_run(const std::string& name) {
  TrainOptions options = tiny_run(name, {.num_devices = 4, .num_microbatches = 4, .updates = 5}, 4, name == "chimera");
  options.numbers = NumberType::kFloat32;
  return options;
}

}  // namespace

TEST_CASE(
    "processes with a device behind streams give the bits, versions and peaks of one thread, for every schedule") {
  std::int64_t taken_back = 0;
  for_each_process_case(4, [&](const std::string& name, TrainOptions options) {
    CAPTURE(name);
    const TrainResult many = train_behind_streams(options);
    const TrainResult one = train(options);
    CHECK(many.weights_hash == one.weights_hash);
    CHECK(many.losses == one.losses);
    CHECK(many.versions == one.versions);
    CHECK(many.gradients == one.gradients);
    REQUIRE(many.timeline.has_value());
    for (std::size_t device = 0; device < one.timeline->devices.size(); ++device) {
      CAPTURE(device);
      CHECK(many.timeline->devices[device].peak_memory_by_class == one.timeline->devices[device].peak_memory_by_class);
    }
    taken_back += many.updates_rolled_back;
  });
  CHECK(taken_back > 0);
}

TEST_CASE("the timeline of processes behind streams is one: complete, nothing is read before it was sent") {
  for (const std::string name : {"1f1b", "chimera", "pipemare"}) {
    CAPTURE(name);
    const TrainOptions options = small_staged_run(name);
    testing::check_complete(train_behind_streams(options).timeline.value(), options.schedule);
  }
}

TEST_CASE("a checkpoint of processes behind streams goes on in one thread") {
  for (const std::string name : {"chimera", "pipemare"}) {
    CAPTURE(name);
    const ScratchDirectory scratch("staged");
    TrainOptions options = small_staged_run(name);
    const TrainResult whole = train(options);
    options.checkpoint = {.directory = scratch.path, .resume = true};
    options.on_update = [](std::int64_t update, double) {
      if (update == 3) throw Error("killed");
    };
    CHECK(testing::error_message([&] { train_behind_streams(options); }) == "killed");
    options.on_update = nullptr;
    CHECK(train(options).weights_hash == whole.weights_hash);
  }
}

}  // namespace plumb

TEST_SUITE_END();
