#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "schedules/lowering/lower.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/reference_training.hpp"
#include "tests/support/written_schedule.hpp"
#include "tests/trainer/predicted_run.hpp"
#include "tests/trainer/training_cases.hpp"
#include "trainer/train.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb {
namespace {

/// A schedule on p = 4 devices, and the version that a forward or backward of it reads by the published rule.
struct Case {
  std::string name;
  std::int64_t m = 1;
  std::map<std::string, std::string> options;
  std::function<ReadVersions(std::int64_t microbatch, std::int64_t stage)> published;
};

/// The newest version at a forward, `delay` backwards before its own, m microbatches to an update.
std::int64_t newest(std::int64_t k, std::int64_t delay, std::int64_t m) { return k < delay ? 0 : (k - delay) / m; }

ReadVersions reads(std::int64_t forward, std::int64_t backward) { return {forward, backward}; }
ReadVersions both(std::int64_t version) { return reads(version, version); }
ReadVersions recomputing(ReadVersions read) { return {read.forward, read.backward, true}; }
/// Forward and backward read weights `late` updates old.
ReadVersions delayed(std::int64_t update, std::int64_t late) { return both(std::max<std::int64_t>(update - late, 0)); }

std::vector<Case> cases() {
  const auto stash = [](auto k, auto s) { return both(newest(k, 3 - s, 2)); };
  const auto warmed_up = [](auto k, auto s) { return reads(k < 4 ? k / 2 : 2 + newest(k - 4, 3 - s, 2), k / 2); };
  return {{"pipedream-vs", 2, {}, [](auto k, auto) { return both(newest(k, 3, 2)); }},
          {"pipedream-2bw", 4, {}, [](auto k, auto) { return delayed(k / 4, 1); }},
          {"pipedream-2bw", 2, {{"delay", "2"}}, [](auto k, auto) { return delayed(k / 2, 2); }},
          {"1f1b-rr", 2, {{"replicas", "1-1-1-1"}}, stash},
          {"hetpipe", 2, {{"virtual-workers", "1"}}, stash},
          {"spectrain", 1, {}, [](auto k, auto s) { return reads(newest(k, 3 - s, 1), k); }},
          {"pipelined-backpropagation", 1, {}, [](auto k, auto s) { return reads(newest(k, 6 - 2 * s, 1), k); }},
          {"petra", 2, {}, [](auto k, auto s) { return recomputing(reads(newest(k, 6 - 2 * s, 2), k / 2)); }},
          {"wpipe", 3, {}, [](auto k, auto s) { return delayed(k / 3, s < 4 ? 1 : 0); }},
          {"avgpipe", 4, {{"pipelines", "1"}}, [](auto k, auto) { return both(k / 4); }},
          {"paci", 3, {}, [](auto k, auto s) { return reads(newest(k, 3 - s, 3), k / 3); }},
          {"pipemare", 2, {{"synchronous", "2"}, {"timing", "1f1b"}}, warmed_up}};
}

TrainOptions options_for(const Case& of) {
  TrainOptions options =
      tiny_run(of.name, {.num_devices = 4, .num_microbatches = of.m, .updates = 7, .options = of.options}, 4);
  options.optimization.steps = 7;
  options.schedule.weights.methods.clear();  // the versions alone
  return options;
}

}  // namespace

TEST_CASE(
    "weights, gradients and losses of asynchronous schedules are those of their published versions, bit for bit") {
  for (const Case& of : cases()) {
    for (const std::string executor : {"serial", "threads"}) {
      CAPTURE(of.name);
      CAPTURE(executor);
      TrainOptions options = options_for(of);
      options.execution.executor = executor;
      const TrainResult result = train(options);
      const TrainResult expected = reference_training(options, of.published);
      REQUIRE_FALSE(result.parameters.empty());
      CHECK(result.parameters == expected.parameters);
      CHECK(result.gradients == expected.gradients);
      CHECK(result.losses == expected.losses);
    }
  }
}

TEST_CASE("every asynchronous schedule of the catalogue reads the versions that its program says, also with threads") {
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    if (spec.synchronous) continue;
    for (const std::string executor : {"serial", "threads"}) {
      CAPTURE(spec.name);
      CAPTURE(executor);
      TrainOptions options =
          tiny_run(std::string(spec.name), {.num_devices = 4, .num_microbatches = 4, .updates = 4}, 3);
      options.execution.executor = executor;
      const TrainResult result = train(options);
      StageCosts costs;
      costs.times.resize(static_cast<std::size_t>(options.schedule.num_stages));
      costs.comm = 0;
      const Program program = lower(options.schedule, costs);
      std::size_t reads = 0;
      for (std::size_t device = 0; device < result.versions.size(); ++device) {
        std::vector<VersionRead> expected;
        for (InstrIndex at = program.lane_begin[device]; at < program.lane_begin[device + 1]; ++at) {
          if (program.version_read[at] >= 0) expected.push_back({program.instrs[at].action, program.version_read[at]});
        }
        CHECK(result.versions[device] == expected);
        reads += expected.size();
      }
      CHECK(reads == static_cast<std::size_t>(2 * options.schedule.num_stages * options.schedule.num_microbatches));
    }
  }
}

TEST_CASE("copies that add their gradients up have the weights of their published versions, to rounding") {
  const std::vector<Case> cases{{"amdp",
                                 4,
                                 {},
                                 [](auto k, auto s) {
                                   const bool crosses = k >= 4 && k % 4 < 2 && s < 2;
                                   return reads(k / 4 - (crosses ? 1 : 0), k / 4);
                                 }},
                                {"cyclic-dp", 4, {}, [](auto k, auto s) { return delayed(k / 4, s < 3 - k % 4); }},
                                {"cyclic-dp", 8, {}, [](auto k, auto s) { return delayed(k / 8, s < 3 - k % 8 / 2); }},
                                {"cyclic-dp", 8, {{"rule", "v1"}}, [](auto k, auto) { return delayed(k / 8, 1); }},
                                {"acco", 8, {{"rule", "dpu"}}, [](auto k, auto) { return delayed(k / 8, 1); }}};
  for (const Case& of : cases) {
    CAPTURE(of.name);
    CAPTURE(of.m);
    const TrainOptions options = options_for(of);
    const TrainResult result = train(options);
    const TrainResult expected = reference_training(options, of.published);
    REQUIRE(result.parameters.size() == expected.parameters.size());
    for (const auto& [name, values] : expected.parameters) {
      CAPTURE(name);
      for (std::size_t i = 0; i < values.size(); ++i) {
        CHECK(result.parameters.at(name)[i] == doctest::Approx(values[i]).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("measured peak memory is the predicted one, class by class, for every option of the asynchronous schedules") {
  using Options = std::map<std::string, std::string>;
  const std::vector<std::pair<std::string, Options>> cases{{"pipedream-vs", {{"timing", "slots"}}},
                                                           {"pipedream-2bw", {{"delay", "3"}, {"timing", "slots"}}},
                                                           {"1f1b-rr", {{"replicas", "2-1-1"}}},
                                                           {"1f1b-rr", {{"replicas", "1-3"}}},
                                                           {"pipemare", {{"correction", "t2"}, {"synchronous", "2"}}},
                                                           {"pipelined-backpropagation", {{"weights", "stash"}}},
                                                           {"petra", {{"timing", "1f1b"}}},
                                                           {"hetpipe", {{"distance", "1"}, {"concurrent", "1"}}},
                                                           {"hetpipe", {{"virtual-workers", "4"}}},
                                                           {"avgpipe", {{"pipelines", "4"}, {"warmup", "advance"}}},
                                                           {"spectrain", {{"prediction", "released"}}}};
  for (const auto& [name, options] : cases) {
    CAPTURE(name);
    const TrainOptions run =
        tiny_run(name, {.num_devices = 4, .num_microbatches = 4, .updates = 5, .options = options}, 3);
    check_same_memory(train(run).timeline.value(), predicted(run));
  }
}

TEST_CASE("schedules with several copies of a stage train: the loss falls") {
  for (const std::string name : {"hetpipe", "1f1b-rr", "amdp", "avgpipe", "acco"}) {
    CAPTURE(name);
    const TrainResult result = train(tiny_run(name, {.num_devices = 4, .num_microbatches = 4, .updates = 12}, 3));
    CHECK(result.losses.back() < result.losses.front());
  }
}

TEST_CASE("gradients of an update that begin before the U of the last one are refused, those of norms by I, too") {
  const auto refused = [](const std::string& list) {
    Schedule schedule = testing::written_schedule({list}, 2);
    schedule.microbatches_per_update = {1};
    schedule.weights.policy = WeightPolicy::kLatest;
    return testing::error_message([&] { train(tiny_run(schedule, 1, false)); });
  };
  const std::string why =
      " adds to the gradients of stage 0 while those of the update before are not used; expected its U in between";
  CHECK(refused("0F0 0B0 0F1 0U0 0B1 0U1").empty());
  CHECK(refused("0F0 0B0 0F1 0B1 0U0 0U1") == "train 'written': 0B1" + why);
  CHECK(refused("0F0 0I0 0W0 0F1 0I1 0U0 0W1 0U1") == "train 'written': 0I1" + why);
}

}  // namespace plumb

TEST_SUITE_END();
