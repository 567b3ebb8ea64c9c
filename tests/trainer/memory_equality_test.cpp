#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/trainer/predicted_run.hpp"
#include "tests/trainer/training_cases.hpp"
#include "trainer/train.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb {
namespace {

/// Every schedule of the catalogue on p devices, with every timing that it offers.
std::vector<TrainOptions> runs_of(const ScheduleSpec& spec, std::int32_t p) {
  std::vector<TrainOptions> runs;
  const bool timings = spec.has_option("timing");
  for (const std::string timing : {"", "slots"}) {
    if (!timing.empty() && !timings) continue;
    ScheduleParams params{.num_devices = p, .num_microbatches = 4, .updates = 2};
    if (!timing.empty()) params.options = {{"timing", timing}};
    if (auto run = tiny_run(spec, params, spec.name == "1f1b" || spec.name == "chimera")) runs.push_back(*run);
  }
  return runs;
}

TrainOptions options_for(const std::string& name, std::int32_t p) {
  return tiny_run(name, {.num_devices = p, .num_microbatches = 4, .updates = 2}, 7);
}

}  // namespace

TEST_CASE("the peak memory of a run equals the simulator's to the byte, class by class, for every schedule") {
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    CAPTURE(spec.name);
    if (divides_vocabulary(spec)) continue;  // refused
    bool ran = false;
    for (const std::int32_t p : {2, 4}) {
      CAPTURE(p);
      for (TrainOptions& options : runs_of(spec, p)) {
        ran = true;
        for (const ReceivePlacement receives :
             {ReceivePlacement::kAhead, ReceivePlacement::kLate, ReceivePlacement::kOnSend}) {
          CAPTURE(static_cast<int>(receives));
          options.execution.lowering.receives = receives;
          check_same_memory(train(options).timeline.value(), predicted(options));
        }
      }
    }
    CHECK(ran);
  }
}

TEST_CASE("recompute, folded or explicit, changes no bit of the weights and is counted as the simulator counts it") {
  TrainOptions options = options_for("zb-h1", 2);
  const std::uint64_t kept = train(options).weights_hash;
  Recompute rule;
  rule.last_stage = 1;
  rule.except_last_microbatch = true;
  for (const std::string how : {"folded", "explicit"}) {
    CAPTURE(how);
    TrainOptions again = options;
    if (how == "folded") {
      again.schedule.recompute = {rule};
    } else {
      std::vector<Action>& actions = again.schedule.devices[0].actions;
      actions = expand(again.schedule.devices[0]);
      again.schedule.devices[0].repeats.clear();
      const auto backward =
          std::find_if(actions.begin(), actions.end(), [](const Action& a) { return a.op == Op::kI; });
      Action recompute = *backward;
      recompute.op = Op::kR;
      actions.insert(backward, recompute);
    }
    const TrainResult result = train(again);
    CHECK(result.weights_hash == kept);
    const Timeline expected = predicted(again);
    for (std::size_t device = 0; device < 2; ++device) {
      CHECK(result.timeline->devices[device].peak_memory_by_class == expected.devices[device].peak_memory_by_class);
    }
  }
}

TEST_CASE("the measured memory curve of every class reaches as high, and ends as low, as the predicted one") {
  for (const std::string schedule : {"1f1b", "zb-h1", "pipedream", "chimera"}) {
    CAPTURE(schedule);
    TrainOptions options = options_for("1f1b", 4);
    options.schedule = generate(schedule, {.num_devices = 4, .num_microbatches = 4});
    const Timeline expected = predicted(options);
    const Timeline measured = train(options).timeline.value();
    const auto extremes = [](const Timeline& timeline, std::int32_t device, MemoryClass cls) {
      std::pair<std::int64_t, std::int64_t> highest_and_last;
      for (const MemoryPoint& point : timeline.memory.of(static_cast<std::size_t>(device))) {
        if (point.cls() != cls) continue;
        highest_and_last = {std::max(highest_and_last.first, point.bytes()), point.bytes()};
      }
      return highest_and_last;
    };
    for (std::size_t cls = 0; cls < kMemoryClassCount; ++cls) {
      CAPTURE(kMemoryClassNames[cls]);
      for (std::int32_t device = 0; device < 4; ++device) {
        CHECK(extremes(measured, device, static_cast<MemoryClass>(cls)) ==
              extremes(expected, device, static_cast<MemoryClass>(cls)));
      }
    }
  }
}

}  // namespace plumb

TEST_SUITE_END();
