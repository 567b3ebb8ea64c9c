#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "predicted_run.hpp"
#include "tests/support/written_schedule.hpp"
#include "trainer/reference_training.hpp"
#include "trainer/train.hpp"
#include "training_cases.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb {
namespace {

using testing::written_schedule;

/// A run of a schedule written by hand on the tiny network; stages of any number of devices.
TrainOptions run_of(Schedule schedule, MicrobatchShape shape = {2, 5}) {
  TrainOptions options = tiny_run("gpipe", {.num_devices = 1, .num_microbatches = 1});
  options.partition = equal_partition(options.network, schedule.num_stages);
  options.schedule = std::move(schedule);
  options.shape = shape;
  options.steps = options.schedule.num_microbatches / options.schedule.per_update(StageId{0});
  return options;
}

/// Both executors, and the simulator, agree about `options`; weights and losses are those of training in one piece.
void check_trains(TrainOptions options, double tolerance) {
  const Timeline expected = predicted(options);
  const TrainResult whole = unpipelined_training(options);
  std::uint64_t hash = 0;
  for (const std::string executor : {"serial", "threads"}) {
    CAPTURE(executor);
    options.executor = executor;
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

TEST_CASE("sequence slices with split backwards, rotary positions and whole actions among them") {
  const std::vector<std::string> devices{"0F0.0 0F0.1 0F1 0I0.1 0I0.0 0W0.1 0W0.0 0B1 0U0",
                                         "1F0 1I0.1 1W0.1 1I0.0 1F1.0 1F1.1 1W0.0 1B1.1 1B1.0 1U0"};
  TrainOptions options = run_of(sliced(devices, 2, Slices::Axis::kSequence, {{3, 2}, {1, 4}}));
  options.network.layers = tiny_llama();
  options.network.layers.front().vocabulary = options.network.layers.back().vocabulary = 256;
  options.partition = equal_partition(options.network, 2);
  check_trains(options, kRounding);
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

}  // namespace plumb

TEST_SUITE_END();
