#include "trainer/executors/streams_executor.hpp"

#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "tests/streams/stream_cases.hpp"
#include "tests/support/immediate_streams.hpp"
#include "tests/support/recorded_streams.hpp"
#include "trainer/backends/cpu_backend.hpp"

TEST_SUITE_BEGIN("streams");

namespace plumb {
namespace {

void check_equal(const TrainResult& streams, const TrainResult& serial) {
  CHECK(streams.weights_hash == serial.weights_hash);
  CHECK(streams.losses == serial.losses);
  CHECK(streams.versions == serial.versions);
  CHECK(streams.gradients == serial.gradients);
  CHECK(streams.updates_rolled_back == serial.updates_rolled_back);
  for (std::size_t device = 0; device < serial.timeline->devices.size(); ++device) {
    CAPTURE(device);
    const DeviceSummary& one = streams.timeline->devices[device];
    const DeviceSummary& other = serial.timeline->devices[device];
    CHECK(one.peak_memory_bytes == other.peak_memory_bytes);
    CHECK(one.peak_memory_by_class == other.peak_memory_by_class);
  }
}

}  // namespace

TEST_CASE("streams, one thread each, give the bits, versions and peaks of the serial executor, for every schedule") {
  for_each_schedule(4, 4, [](const std::string& name, TrainOptions options) {
    CAPTURE(name);
    const TrainResult serial = train(options);
    options.execution.executor = "streams";
    check_equal(train(options), serial);
  });
}

TEST_CASE("updates that are taken back, and norms over all stages, go the same way with streams") {
  TrainOptions options = tiny_run("zb-h2", {.num_devices = 4, .num_microbatches = 8, .updates = 4}, 4);
  options.optimization.clip_norm = 0.01;
  options.optimization.clip_scope = ClipScope::kGlobal;
  const TrainResult plain = train(options);
  TrainOptions streams = options;
  streams.execution.executor = "streams";
  check_equal(train(streams), plain);
}

TEST_CASE("work in which the host waits for its device says so, for a gate may stand in front of it") {
  /// As a GPU has it: whoever waits inside other work waits for ever.
  class Waits : public RecordedStreams {
   public:
    explicit Waits() : RecordedStreams(immediate_streams(add_on_cpu)) {}
    void launch(StreamId stream, Work work) override {
      if (work.waits) names.insert(work.name);
      RecordedStreams::launch(stream, std::move(work));
    }
    std::set<std::string> names;
  };
  Waits machine;
  TrainOptions options = tiny_run("1f1b", {.num_devices = 2, .num_microbatches = 4, .updates = 2}, 2);
  options.optimization.clip_norm = 0.01;
  options.optimization.clip_scope = ClipScope::kGlobal;
  options.execution.executor = "streams";
  options.hooks.own_streams = &machine;
  train(options);
  CHECK(machine.names == std::set<std::string>{"initialize", "norms"});
}

TEST_CASE("a timeline measured by events is complete, and its times are those of the run") {
  TrainOptions options = tiny_run("1f1b", {.num_devices = 4, .num_microbatches = 4, .updates = 3}, 4);
  options.execution.executor = "streams";
  const Timeline timeline = train(options).timeline.value();
  for (const DeviceSummary& device : timeline.devices) {
    CHECK(device.busy + device.idle == timeline.makespan);
    CHECK(device.busy > 0);
  }
  Ticks before = 0;
  for (const Span& span : timeline.spans) {
    CHECK(span.end >= span.start);
    CHECK(span.start >= 0);
    before = std::max(before, span.end);
  }
  CHECK(before == timeline.makespan);
  for (std::size_t device = 0; device < timeline.memory.ends.size(); ++device) {
    const std::size_t first = device == 0 ? 0 : timeline.memory.ends[device - 1];
    for (std::size_t i = first + 1; i < timeline.memory.ends[device]; ++i) {
      CHECK(timeline.memory.points[i - 1].time() <= timeline.memory.points[i].time());
    }
  }
}

TEST_CASE("what a kernel throws ends the run") {
  TrainOptions options = tiny_run("1f1b", {.num_devices = 2, .num_microbatches = 4, .updates = 3}, 2);
  options.execution.executor = "streams";
  options.observation.on_update = [](std::int64_t update, double) {
    if (update == 1) throw std::runtime_error("enough");
  };
  CHECK_THROWS_WITH_AS(train(options), "enough", std::runtime_error);
}

}  // namespace plumb

TEST_SUITE_END();
