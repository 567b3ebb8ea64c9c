#include "trainer/staged_transport.hpp"

#include <array>
#include <string>

#include <doctest/doctest.h>

#include "models/error.hpp"
#include "process_cases.hpp"
#include "scratch_directory.hpp"
#include "tests/support/complete_timeline.hpp"
#include "tests/support/error_message.hpp"
#include "thread_processes.hpp"
#include "trainer/cpu_backend.hpp"
#include "trainer/host_streams.hpp"

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

/// A machine that does its work and never says so.
class MuteStreams : public HostStreams {
 public:
  MuteStreams() : HostStreams(add_on_cpu) {}

  StreamId make_stream(DeviceId, StreamKind) override { return StreamId{streams_++}; }
  EventId make_event(EventUse) override { return EventId{events_++}; }
  void record(EventId, StreamId) override {}
  void wait(StreamId, EventId) override {}
  bool is_done(EventId) override { return false; }
  void synchronize() override {}
  std::int64_t time_ns(EventId) override { return 0; }
  void abandon() override { abandoned = true; }

  bool abandoned = false;

 private:
  void enqueue(StreamId, std::function<void()> task) override { task(); }

  std::uint32_t streams_ = 0;
  std::uint32_t events_ = 0;
};

}  // namespace

TEST_CASE("a message that its device never finishes ends the run of all processes, with where the device stands") {
  TrainOptions options = tiny_run("1f1b", {.num_devices = 2, .num_microbatches = 2, .updates = 1});
  std::array<MuteStreams, 2> machines;
  const auto outcomes = train_in_processes(options, 2, [&](std::size_t rank, TrainOptions& own) {
    own.executor = "streams";
    own.own_streams = &machines[rank];
    own.streams.watchdog_s = 0.01;
  });
  CHECK_THROWS_WITH_AS(std::rethrow_exception(outcomes[0].failure), "train: no progress for 0 s; device 0 at 0F0",
                       Error);
  CHECK_THROWS_AS(std::rethrow_exception(outcomes[1].failure), Stopped);
  CHECK(machines[0].abandoned);
}

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
