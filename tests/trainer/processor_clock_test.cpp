#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "tests/support/complete_timeline.hpp"
#include "tests/support/error_message.hpp"
#include "tests/trainer/predicted_run.hpp"
#include "tests/trainer/same_run.hpp"
#include "tests/trainer/training_cases.hpp"

// Runs whose devices have the processor time of their threads for a clock.

TEST_SUITE_BEGIN("trainer");

namespace plumb {
namespace {

TrainOptions by_processor(TrainOptions options, const std::string& executor) {
  options.execution.executor = executor;
  options.execution.clock = ClockKind::kProcessor;
  return options;
}

/// When the passes of a kind begin and end, by stage and microbatch.
std::map<std::pair<std::int32_t, std::int32_t>, std::pair<Ticks, Ticks>> passes(const Timeline& timeline, Op op) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::pair<Ticks, Ticks>> found;
  for (const Span& span : timeline.spans) {
    if (span.lane != Lane::kCompute || span.action.op != op) continue;
    const auto stage = static_cast<std::int32_t>(span.action.stage);
    found[{stage, static_cast<std::int32_t>(span.action.microbatch)}] = {span.start, span.end};
  }
  return found;
}

}  // namespace

TEST_CASE(
    "by processor time every schedule ends with the bits and the memory of the wall clock, and its time adds up") {
  for (const std::string name : {"gpipe", "1f1b", "zb-h1", "zb-v", "chimera", "pipemare"}) {
    for (const std::string executor : {"threads", "serial"}) {
      CAPTURE(name);
      CAPTURE(executor);
      const TrainOptions options = tiny_run(name, {.num_devices = 4, .num_microbatches = 4, .updates = 2}, 4);
      const TrainResult by_wall = train(options);
      const TrainResult own = train(by_processor(options, executor));
      check_same_run(own, by_wall);
      testing::check_complete(*own.timeline, options.schedule);
      CHECK(own.timeline->machine.find("by its own processor time") != std::string::npos);
      CHECK(by_wall.timeline->machine.find("processor time") == std::string::npos);
    }
  }
}

TEST_CASE(
    "by processor time no pass begins before the pass that it reads has begun, and its message has crossed the link") {
  constexpr std::int64_t kHopNs = 3'000'000;
  Cluster cluster;
  cluster.devices.resize(2);
  cluster.devices_per_node = 2;
  cluster.intra_node = {.latency_ns = kHopNs, .bytes_per_s = 0};
  cluster.finish();
  for (const std::string executor : {"threads", "serial"}) {
    CAPTURE(executor);
    TrainOptions options =
        by_processor(tiny_run("1f1b", {.num_devices = 2, .num_microbatches = 3, .updates = 1}), executor);
    options.execution.cluster = &cluster;
    const Timeline timeline = train(options).timeline.value();
    const auto forwards = passes(timeline, Op::kF);
    const auto backwards = passes(timeline, Op::kB);
    REQUIRE(forwards.size() == 6);
    REQUIRE(backwards.size() == 6);
    for (std::int32_t k = 0; k < 3; ++k) {
      CHECK(forwards.at({1, k}).first >= forwards.at({0, k}).first + kHopNs);
      CHECK(backwards.at({0, k}).first >= backwards.at({1, k}).first + kHopNs);
    }
    CHECK(timeline.makespan >= 2 * kHopNs);
  }
}

TEST_CASE("by processor time the timeline does not contain what threads sleep, though messages wait for it") {
  constexpr std::chrono::milliseconds kSleep{100};
  constexpr std::int64_t kMicrobatches = 4;
  TrainOptions options = tiny_run("1f1b", {.num_devices = 2, .num_microbatches = kMicrobatches, .updates = 1});
  options.hooks.on_gradients = [&](StageId stage, std::int64_t, std::span<std::byte>) {
    if (stage == StageId{1}) std::this_thread::sleep_for(kSleep);
  };
  const Ticks slept = kMicrobatches * std::chrono::nanoseconds(kSleep).count();
  options.execution.executor = "threads";
  CHECK(train(options).timeline->makespan >= slept);
  CHECK(train(by_processor(options, "threads")).timeline->makespan < slept);
}

TEST_CASE("what has no thread of its own, or shares links, cannot be timed by processor time") {
  const TrainOptions options = tiny_run("1f1b", {.num_devices = 2, .num_microbatches = 2, .updates = 1});
  CHECK(testing::error_message([&] { train(by_processor(options, "streams")); }) ==
        "train '1f1b': the clock processor counts the time of threads, and streams do the work; expected the executor "
        "threads or serial");
  Cluster cluster = free_cluster(2);
  cluster.intra_node.half_duplex = true;
  cluster.finish();
  TrainOptions shared = by_processor(options, "threads");
  shared.execution.cluster = &cluster;
  CHECK(testing::error_message([&] { train(shared); }) ==
        "train '1f1b': the clock processor cannot divide a link between devices; expected links of each pair's own");
}

}  // namespace plumb

TEST_SUITE_END();
