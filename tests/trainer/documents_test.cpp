#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "schedules/document/schedule_io.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/reference_training.hpp"
#include "tests/support/written_schedule.hpp"
#include "tests/trainer/predicted_run.hpp"
#include "tests/trainer/training_cases.hpp"
#include "trainer/train.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb {
namespace {

using testing::written_schedule;

/// A run of a schedule written by hand on the tiny network; stages of any number of devices.
TrainOptions run_of(Schedule schedule, MicrobatchShape shape = {2, 5}) {
  TrainOptions options = tiny_run("gpipe", {.num_devices = 1, .num_microbatches = 1});
  options.model.partition = equal_partition(options.model.network, schedule.num_stages);
  options.schedule = std::move(schedule);
  options.model.shape = shape;
  options.optimization.steps = options.schedule.num_microbatches / options.schedule.per_update(StageId{0});
  return options;
}

/// A Llama-like network: rotary positions, grouped heads.
TrainOptions llama_run_of(Schedule schedule) {
  TrainOptions options = run_of(std::move(schedule));
  options.model.network.layers = tiny_llama();
  options.model.network.layers.front().vocabulary = options.model.network.layers.back().vocabulary = 256;
  options.model.partition = equal_partition(options.model.network, options.schedule.num_stages);
  return options;
}

/// Both executors, and the simulator, agree about `options`; weights and losses are those of training in one piece.
void check_trains(TrainOptions options, double tolerance) {
  const Timeline expected = predicted(options);
  const TrainResult whole = unpipelined_training(options);
  std::uint64_t hash = 0;
  for (const std::string executor : {"serial", "threads"}) {
    CAPTURE(executor);
    options.execution.executor = executor;
    const TrainResult result = train(options);
    check_same_memory(result.timeline.value(), expected);
    CHECK(largest_difference(result.parameters, whole.parameters) <= tolerance);
    CHECK(largest_difference(result.gradients, whole.gradients) <= tolerance);
    REQUIRE(result.losses.size() == whole.losses.size());
    for (std::size_t i = 0; i < whole.losses.size(); ++i) {
      CHECK(std::abs(result.losses[i] - whole.losses[i]) <= tolerance);
    }
    if (hash != 0) CHECK(result.weights_hash == hash);
    hash = result.weights_hash;
  }
}

constexpr double kRounding = 1e-12;  // sums in another order, in double

Schedule sliced(const std::vector<std::string>& devices, std::int64_t microbatches, Slices::Axis axis,
                std::vector<std::vector<std::int64_t>> lengths) {
  Schedule schedule = written_schedule(devices, microbatches);
  schedule.slices = Slices{axis, std::move(lengths)};
  return schedule;
}

}  // namespace

TEST_CASE("microbatches merged into one action train as they do one by one") {
  check_trains(run_of(written_schedule({"0F0+1 0F2+3 0B0+1 0B2+3 0U0", "1F0+1 1B0+1 1F2+3 1B2+3 1U0"}, 4)), 0.0);
  check_trains(
      run_of(written_schedule({"0F0 0F1 0F2+3 0B0 0B1 0I2+3 0W2+3 0U0", "1F0+1 1B0 1B1 1F2 1F3 1B2+3 1U0"}, 4)), 0.0);
}

TEST_CASE("a backward in two batch slices trains as a whole one") {
  const std::vector<std::string> halves{"0F0 0F1 0B0.0 0B0.1 0B1.0 0B1.1 0U0", "1F0 1B0.0 1B0.1 1F1 1B1.0 1B1.1 1U0"};
  check_trains(run_of(sliced(halves, 2, Slices::Axis::kBatch, {{1, 1}})), kRounding);
}

TEST_CASE("a forward in batch slices feeds a whole one, and a whole backward its slices") {
  const std::vector<std::string> mixed{"0F0.0 0F0.1 0F1 0B0 0B1.1 0B1.0 0U0", "1F0 1F1.0 1F1.1 1B0.0 1B0.1 1B1 1U0"};
  check_trains(run_of(sliced(mixed, 2, Slices::Axis::kBatch, {{1, 2}}), {3, 5}), kRounding);
}

TEST_CASE("sequence slices train as whole microbatches: later slices attend to earlier ones") {
  const std::vector<std::string> devices{"0F0.0 0F0.1 0F0.2 0B0.2 0F1.0 0B0.1 0F1.1 0B0.0 0F1.2 0B1.2 0B1.1 0B1.0 0U0",
                                         "1F0.0 1F0.1 1F0.2 1B0.2 1B0.1 1F1.0 1F1.1 1B0.0 1F1.2 1B1.2 1B1.1 1B1.0 1U0"};
  check_trains(run_of(sliced(devices, 2, Slices::Axis::kSequence, {{2, 2, 1}})), kRounding);
}

TEST_CASE("sequence slices that recompute keep the keys that others read, and train as whole microbatches") {
  const std::vector<std::string> devices{"0F0.0 0F0.1 0F0.2 0B0.2 0F1.0 0B0.1 0F1.1 0B0.0 0F1.2 0B1.2 0B1.1 0B1.0 0U0",
                                         "1F0.0 1F0.1 1F0.2 1I0.2 1I0.1 1W0.2 1I0.0 1F1 1W0.1 1B1 1W0.0 1U0"};
  Schedule schedule = sliced(devices, 2, Slices::Axis::kSequence, {{2, 2, 1}});
  const auto kept = [](const Schedule& of) {
    const auto timeline = predicted(run_of(of));
    return timeline.devices[0].peak_memory_by_class[static_cast<std::size_t>(MemoryClass::kKeptForWeightGrad)];
  };
  const std::int64_t all = kept(schedule);
  for (const auto& [first, last] : {std::pair{0, 1}, {0, 0}, {1, 1}}) {
    for (const bool except_last : {false, true}) {
      CAPTURE(first);
      CAPTURE(last);
      CAPTURE(except_last);
      Recompute rule;
      rule.first_stage = first;
      rule.last_stage = last;
      rule.except_last_microbatch = except_last;
      schedule.recompute = {rule};
      check_trains(run_of(schedule), kRounding);
      CHECK((kept(schedule) < all) == (first == 0 && !except_last));
    }
  }
}

TEST_CASE("an R of sequence slices, whole or slice by slice, reads the keys that the forwards have left") {
  const std::vector<std::string> devices{"0F0.0 0F0.1 0F1 0R0.1 0I0.1 0R0.0 0I0.0 0W0.1 0W0.0 0R1 0B1.1 0B1.0 0U0",
                                         "1F0 1R0 1I0.1 1W0.1 1I0.0 1F1.0 1F1.1 1W0.0 1R1.0 1R1.1 1B1.1 1B1.0 1U0"};
  check_trains(llama_run_of(sliced(devices, 2, Slices::Axis::kSequence, {{3, 2}, {1, 4}})), kRounding);
}

TEST_CASE("a segment of stages is replayed slice by slice") {
  Schedule schedule = sliced({"0F0.0 0F0.1 0F1.0 0F1.1 0R0.0 0R0.1 0B0.1 0B0.0 0R1 0B1 0U0",
                              "1F0 1F1 1R0.0 1R0.1 1B0.1 1B0.0 1R1 1B1.1 1B1.0 1U0"},
                             2, Slices::Axis::kSequence, {{3, 2}});
  Recompute rule;
  rule.last_stage = 1;
  rule.segment = true;
  schedule.recompute = {rule};
  check_trains(run_of(schedule), kRounding);
  schedule.slices = Slices{Slices::Axis::kBatch, {{1, 1}}};
  check_trains(run_of(schedule), kRounding);
}

TEST_CASE("sequence slices with split backwards, rotary positions and whole actions among them") {
  const std::vector<std::string> devices{"0F0.0 0F0.1 0F1 0I0.1 0I0.0 0W0.1 0W0.0 0B1 0U0",
                                         "1F0 1I0.1 1W0.1 1I0.0 1F1.0 1F1.1 1W0.0 1B1.1 1B1.0 1U0"};
  check_trains(llama_run_of(sliced(devices, 2, Slices::Axis::kSequence, {{3, 2}, {1, 4}})), kRounding);
}

TEST_CASE("microbatches of different length train as in one piece, every token counting the same") {
  Schedule schedule = written_schedule({"0F0 0F1 0F2 0B0 0B1 0B2 0U0", "1F0 1B0 1F1 1B1 1F2 1B2 1U0"}, 3);
  schedule.microbatch_sizes = {5, 2, 3};
  check_trains(run_of(schedule), 0.0);
  CHECK(predicted(run_of(schedule)).devices[0].peak_memory_bytes <
        predicted(run_of(written_schedule({"0F0 0F1 0F2 0B0 0B1 0B2 0U0", "1F0 1B0 1F1 1B1 1F2 1B2 1U0"}, 3)))
            .devices[0]
            .peak_memory_bytes);
}

TEST_CASE("stashes that are evicted to a partner or the host come back as they were, and are counted where they are") {
  const std::vector<std::string> devices{"0F0 0EVICT0@1 0F1 0EVICT1@host 0F2 0B2 0LOAD1@host 0LOAD0@1 0B1 0I0 0W0 0U0",
                                         "1F0 1B0 1F1 1F2 1B2 1B1 1U0"};
  const TrainOptions options = run_of(written_schedule(devices, 3));
  check_trains(options, kRounding);
  const Timeline timeline = predicted(options);
  const auto held = [&](std::size_t device) {
    return std::ranges::any_of(timeline.memory.of(device), [](const MemoryPoint& point) {
      return point.cls() == MemoryClass::kEvicted && point.bytes() > 0;
    });
  };
  CHECK(held(1));
  CHECK_FALSE(held(0));
}

TEST_CASE("an evicted stash of slices with recompute is its input alone") {
  Schedule schedule = sliced({"0F0 0F1 0B1 0B0 0U0", "1F0.0 1F0.1 1EVICT0.1@0 1F1 1B1 1LOAD0.1@0 1B0.0 1B0.1 1U0"}, 2,
                             Slices::Axis::kBatch, {{1, 1}});
  Recompute rule;
  rule.first_stage = rule.last_stage = 1;
  schedule.recompute = {rule};
  check_trains(run_of(schedule), kRounding);
}

TEST_CASE("weights that live on the host are there when they are needed, and only then") {
  Schedule schedule = written_schedule(
      {"0LOAD@host 0F0 0F1 0EVICT@host 1LOAD@host 1F0 1F1 1EVICT@host 2LOAD@host 2F0 2F1 2B1 2B0 2U0 2EVICT@host "
       "1LOAD@host 1B1 1B0 1U0 1EVICT@host 0LOAD@host 0B1 0B0 0U0 0EVICT@host"},
      2);
  schedule.num_stages = 3;
  schedule.placement = {{{DeviceId{0}}, {DeviceId{0}}, {DeviceId{0}}}};
  const TrainOptions options = run_of(schedule);
  check_trains(options, kRounding);
  TrainOptions resident = options;
  resident.schedule.devices =
      written_schedule({"0F0 0F1 1F0 1F1 2F0 2F1 2B1 2B0 2U0 1B1 1B0 1U0 0B1 0B0 0U0"}, 2).devices;
  CHECK(predicted(options).devices[0].peak_memory_bytes < predicted(resident).devices[0].peak_memory_bytes);
}

TEST_CASE("stages on several devices take microbatches in turn and add their gradients up") {
  Schedule schedule =
      written_schedule({"0F0 0F2 0B0 0B2 0U0", "0F1 0F3 0B1 0B3 0U0", "1F0 1B0 1F1 1B1 1F2 1B2 1F3 1B3 1U0"}, 4);
  schedule.num_stages = 2;
  schedule.placement = {{{DeviceId{0}, DeviceId{1}}, {DeviceId{2}}}};
  check_trains(run_of(schedule), kRounding);
  schedule.devices =
      written_schedule({"0F0+1+2+3 0B0+1+2+3 0U0", "1F0 1F2 1B0 1B2 1U0", "1F1 1F3 1B1 1B3 1U0"}, 4).devices;
  schedule.placement = {{{DeviceId{0}}, {DeviceId{1}, DeviceId{2}}}};
  check_trains(run_of(schedule), kRounding);
}

TEST_CASE("an asynchronous stage on two devices reads what its policy says, keeps that, and adds its gradients up") {
  Schedule schedule = written_schedule({"0F0 0F2 0B0 0U0 0F4 0B2 0U1 0B4 0U2", "0F1 0F3 0B1 0U0 0F5 0B3 0U1 0B5 0U2",
                                        "1F0 1B0 1F1 1B1 1U0 1F2 1B2 1F3 1B3 1U1 1F4 1B4 1F5 1B5 1U2"},
                                       6);
  schedule.num_stages = 2;
  schedule.placement = {{{DeviceId{0}, DeviceId{1}}, {DeviceId{2}}}};
  schedule.microbatches_per_update = {2};
  for (const WeightPolicy policy : {WeightPolicy::kStash, WeightPolicy::kVerticalSync, WeightPolicy::kDoubleBuffer,
                                    WeightPolicy::kLatest, WeightPolicy::kPredicted}) {
    CAPTURE(static_cast<int>(policy));
    schedule.weights.policy = policy;
    schedule.weights.correction_buffers = {"one", "two"};
    TrainOptions options = run_of(schedule);
    for (const std::string executor : {"serial", "threads"}) {
      CAPTURE(executor);
      options.execution.executor = executor;
      const TrainResult result = train(options);
      check_same_memory(result.timeline.value(), predicted(options));
      std::map<std::pair<std::int64_t, std::int64_t>, ReadVersions> read;
      for (const auto& device : result.versions) {
        for (const VersionRead& one : device) {
          ReadVersions& versions =
              read[{static_cast<std::int64_t>(one.action.microbatch), static_cast<std::int64_t>(one.action.stage)}];
          (one.action.op == Op::kF ? versions.forward : versions.backward) = one.version;
        }
      }
      const TrainResult expected = reference_training(options, [&](std::int64_t k, std::int64_t stage) {
        return read.at({k, stage});
      });
      CHECK(largest_difference(result.parameters, expected.parameters) <= kRounding);
      CHECK(largest_difference(result.gradients, expected.gradients) <= kRounding);
    }
  }
}

TEST_CASE("extra work takes its turn and changes nothing") {
  Schedule schedule = written_schedule({"0F0 0X0 0F1 0B0 0B1 0U0", "1F0 1B0 1F1 1B1 1X1 1U0"}, 2);
  schedule.extras = {{"X0", {}}, {"X1", {.units = 2}}};
  check_trains(run_of(schedule), 0.0);
}

TEST_CASE("a document that validates right after its updates skips one whose gradients are not finite") {
  Schedule schedule = written_schedule(
      {"0F0 0F1 0B0 0B1 0U0 0V0 0F2 0F3 0B2 0B3 0U1 0V1", "1F0 1B0 1F1 1B1 1U0 1V0 1F2 1B2 1F3 1B3 1U1 1V1"}, 4);
  const auto edge = [&](const std::string& before, const std::string& after) {
    schedule.extra_edges.push_back({parse_action(before, "test"), parse_action(after, "test")});
  };
  for (const std::string update : {"0", "1"}) {
    edge("0U" + update, "1V" + update);
    edge("1U" + update, "0V" + update);
  }
  TrainOptions options = run_of(schedule);
  options.schedule.microbatches_per_update = {2};
  options.optimization.steps = 2;
  check_trains(options, 0.0);
  options.optimization.learning_rate.base = 1e300;
  options.execution.executor = "serial";
  const TrainResult result = train(options);
  CHECK(result.updates_skipped == 1);
  CHECK(result.updates_rolled_back == 0);
}

namespace {

/// Both executors agree with the simulator, and give the losses of training before its first update.
void check_infers(Schedule forward) {
  forward.forward_only = true;
  TrainOptions options = run_of(std::move(forward));
  const std::vector<double> losses = unpipelined_training(options).losses;
  const Timeline expected = predicted(options);
  CHECK(expected.devices[0].peak_memory_by_class[static_cast<std::size_t>(MemoryClass::kKeptForWeightGrad)] > 0);
  CHECK(expected.devices[0].peak_memory_by_class[static_cast<std::size_t>(MemoryClass::kOptimizer)] == 0);
  for (const std::string executor : {"serial", "threads"}) {
    options.execution.executor = executor;
    const TrainResult result = train(options);
    check_same_memory(result.timeline.value(), expected);
    REQUIRE(result.losses.size() == losses.size());
    CHECK(std::abs(result.losses[0] - losses[0]) < kRounding);
  }
}

}  // namespace

TEST_CASE("forward mode keeps nothing but weights, needs the stash of one forward, and gives the losses of training") {
  check_infers(written_schedule({"0F0 0F1 0F2+3", "1F0+1 1F2 1F3"}, 4));
}

TEST_CASE("forward mode over sequence slices keeps keys and values until the last slice is through") {
  const std::vector<std::string> devices{"0F0.0 0F0.1 0F1.0 0F0.2 0F1.1 0F1.2 0F2",
                                         "1F0.0 1F0.1 1F0.2 1F1 1F2.0 1F2.1 1F2.2"};
  check_infers(sliced(devices, 3, Slices::Axis::kSequence, {{2, 2, 1}}));
  check_infers(sliced(devices, 3, Slices::Axis::kSequence, {{1, 1, 3}, {3, 1, 1}, {1, 2, 2}}));
}

}  // namespace plumb

TEST_SUITE_END();
