#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "models/stages/network_costs.hpp"
#include "schedules/runnability/deadlock.hpp"
#include "sim/simulate.hpp"
#include "tests/support/complete_timeline.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/trainer/predicted_run.hpp"
#include "tests/trainer/thread_processes.hpp"
#include "tests/trainer/training_cases.hpp"
#include "trainer/checkpoint/checkpoint.hpp"
#include "trainer/train.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb {
namespace {

using testing::error_message;

constexpr std::int64_t kLatencyNs = 30'000;

/// Messages take about as long to send as to travel.
Cluster slow_links(std::int32_t devices) {
  Cluster cluster;
  cluster.devices.resize(static_cast<std::size_t>(devices));
  cluster.devices_per_node = devices;
  cluster.intra_node = {.latency_ns = kLatencyNs, .bytes_per_s = 2e7};
  cluster.finish();
  return cluster;
}

StageCosts times_of(const TrainOptions& options) {
  const Precision precision = precision_of(options.model.numbers, options.optimization.optimizer);
  StageCosts costs = untimed_costs(options.model.network, options.model.partition, options.model.shape, precision);
  for (StageTimes& times : costs.times) {
    times = {.f = 60'000, .b = 110'000, .i = 60'000, .w = 50'000, .r = 60'000, .u = 20'000, .all_reduce = 40'000};
  }
  return costs;
}

/// The run on the back end paced; `cluster` must outlive it.
TrainOptions paced(TrainOptions options, const Cluster& cluster, TransferMode mode = TransferMode::kBuffered) {
  options.execution.backend = "paced";
  options.execution.executor = "threads";
  options.execution.cluster = &cluster;
  options.execution.pace = PaceOptions{.costs = times_of(options), .transfers = mode};
  options.observation.keep_parameters = false;
  return options;
}

Program program_of(const TrainOptions& options) {
  return lower(options.schedule, times_of(options), options.execution.cluster, options.execution.lowering);
}

Timeline predicted_paced(const TrainOptions& options) {
  return simulate(program_of(options), {.transfers = options.execution.pace->transfers});
}

/// Times only add up and wait for each other, and a real run only adds to them: so nothing may begin or end before its
/// predicted moment, whatever else the machine does. The order of spans is that of the lanes.
void check_no_earlier(const Timeline& measured, const Timeline& expected) {
  const auto computed = [](const Timeline& timeline) {
    std::vector<Span> spans;
    for (const Span& span : timeline.spans) {
      if (span.lane == Lane::kCompute) spans.push_back(span);
    }
    return spans;
  };
  const std::vector<Span> real = computed(measured);
  const std::vector<Span> planned = computed(expected);
  REQUIRE(real.size() == planned.size());
  for (std::size_t i = 0; i < real.size(); ++i) {
    CAPTURE(i);
    CHECK(real[i].action == planned[i].action);
    CHECK(real[i].start >= planned[i].start);
    CHECK(real[i].end >= planned[i].end);
  }
}

TrainOptions small_run(const std::string& name, std::int32_t p = 4) {
  return tiny_run(name, {.num_devices = p, .num_microbatches = 4, .updates = 2}, 4);
}

}  // namespace

TEST_CASE(
    "every schedule of the catalogue runs paced, in the predicted order and memory, and nothing before its time") {
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    CAPTURE(spec.name);
    const auto run = tiny_run(spec, {.num_devices = 4, .num_microbatches = 4, .updates = 2});
    if (!run) continue;
    const Cluster cluster = slow_links(4);
    const TrainOptions options = paced(*run, cluster);
    const Timeline measured = train(options).timeline.value();
    const Timeline expected = predicted_paced(options);
    testing::check_idle_causes(measured);
    check_same_memory(measured, expected);
    check_no_earlier(measured, expected);
  }
}

TEST_CASE("in every transfer mode a paced run keeps the rules of the simulator's links") {
  const Cluster cluster = slow_links(4);
  for (const std::string name : {"gpipe", "1f1b", "zb-h1", "chimera"}) {
    for (std::size_t number = 0; number < kTransferModeNames.size(); ++number) {
      const auto mode = static_cast<TransferMode>(number);
      CAPTURE(name);
      CAPTURE(kTransferModeNames[number]);
      const TrainOptions options = paced(small_run(name), cluster, mode);
      if (!describe_deadlock(program_of(options), mode).empty()) {
        CHECK_THROWS_AS(train(options), CannotRun);
        continue;
      }
      const Timeline measured = train(options).timeline.value();
      check_no_earlier(measured, predicted_paced(options));
    }
  }
}

TEST_CASE("links that directions or pairs share are paced in one process, and refused between several") {
  Cluster cluster = slow_links(4);
  cluster.intra_node.half_duplex = true;
  cluster.intra_node.shared = true;
  cluster.finish();
  const TrainOptions options = paced(small_run("1f1b"), cluster);
  const Timeline measured = train(options).timeline.value();
  testing::check_complete(measured, options.schedule);
  check_same_memory(measured, predicted_paced(options));
  CHECK(error_message([&] { train_in_processes(options); }).find("shared link") != std::string::npos);
}

TEST_CASE("several processes run paced with the memory of one, and every message takes its time") {
  const Cluster cluster = slow_links(4);
  for (const TransferMode mode : {TransferMode::kBuffered, TransferMode::kRendezvous, TransferMode::kBatched}) {
    CAPTURE(static_cast<int>(mode));
    const TrainOptions options = paced(small_run("zb-h1"), cluster, mode);
    const Timeline measured = train_in_processes(options).timeline.value();
    testing::check_complete(measured, options.schedule);
    const Timeline expected = predicted_paced(options);
    check_same_memory(measured, expected);
    const auto sent = [](const Timeline& timeline) {
      std::vector<Ticks> times;
      for (const Span& span : timeline.spans) {
        if (span.lane == Lane::kTransfer) times.push_back(span.end - span.start);
      }
      return times;
    };
    CHECK(sent(measured) == sent(expected));
  }
}

TEST_CASE("a slowed-down clock counts given time: the same run, with the same memory, in the same order") {
  const Cluster cluster = slow_links(4);
  TrainOptions options = paced(small_run("1f1b"), cluster);
  options.execution.pace->dilation = 5;
  const std::int64_t begin = RunClock::steady_ns();
  const Timeline measured = train(options).timeline.value();
  const std::int64_t took = RunClock::steady_ns() - begin;
  const Timeline expected = predicted_paced(options);
  check_no_earlier(measured, expected);
  CHECK(took >= 5 * expected.makespan);
  CHECK(took >= 5 * measured.makespan);
}

TEST_CASE("a paced run that was stopped goes on from its checkpoint, also with messages on their way") {
  for (const std::string name : {"1f1b", "pipedream"}) {
    CAPTURE(name);
    testing::ScratchDirectory folder;
    const Cluster cluster = slow_links(4);
    TrainOptions options = paced(small_run(name), cluster, TransferMode::kRendezvous);
    options.observation.checkpoint.directory = folder.path() / "saved";
    options.observation.on_update = [](std::int64_t update, double) {
      if (update == 1) throw std::runtime_error("stopped");
    };
    CHECK_THROWS_AS(train(options), std::runtime_error);
    options.observation.on_update = nullptr;
    options.observation.checkpoint.resume = true;
    const TrainResult result = train(options);
    CHECK(result.losses.size() == 2);
  }
}

TEST_CASE("what cannot be paced is refused in one line") {
  Cluster cluster = slow_links(4);
  TrainOptions options = paced(small_run("1f1b"), cluster);
  options.execution.executor = "serial";
  CHECK(error_message([&] { train(options); }) ==
        "train '1f1b': the back end paced runs in real time; expected the executor threads instead of serial");
  options = paced(small_run("1f1b"), cluster);
  options.execution.pace.reset();
  CHECK(error_message([&] { train(options); }) ==
        "train '1f1b': the back end 'paced' has no times of its own; expected given ones, as `plumbline train` takes "
        "them");
}

}  // namespace plumb

TEST_SUITE_END();
