#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "schedules/lowering/lower.hpp"
#include "tests/support/reference_training.hpp"
#include "tests/trainer/training_cases.hpp"
#include "trainer/train.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb {
namespace {

TrainOptions flush_free_run(const std::string& name, std::int32_t p, std::int64_t n, bool slots) {
  const std::int64_t updates = (3 * p + n - 1) / n + 1;
  TrainOptions options = tiny_run(
      name,
      {.num_devices = p, .num_microbatches = n, .updates = updates, .options = {{"timing", slots ? "slots" : "1f1b"}}},
      3);
  options.optimization.steps = updates;
  return options;
}

/// schedules-asynchronous.md 1.2 and 1.3: L_F at the forward; at the backward L_B, or with stashing what F read.
ReadVersions published(const std::string& name, std::int64_t p, std::int64_t n, bool slots, std::int64_t k,
                       std::int64_t stage) {
  const std::int64_t distance = slots ? 2 * (p - 1 - stage) + 1 : p - 1 - stage;
  const std::int64_t forward = k < distance ? 0 : (k - distance) / n;
  return {forward, name == "pipedream" ? forward : k / n};
}

bool equal(const NamedValues& a, const NamedValues& b) { return !a.empty() && a == b; }

template <class Check>
void for_each_case(const Check& check) {
  for (const std::string name : {"pipedream", "pipemare"}) {
    for (const bool slots : {false, true}) {
      for (const auto& [p, n] :
           std::vector<std::pair<std::int32_t, std::int64_t>>{{1, 2}, {2, 1}, {3, 2}, {4, 2}, {4, 1}}) {
        CAPTURE(name);
        CAPTURE(slots);
        CAPTURE(p);
        CAPTURE(n);
        check(name, p, n, slots);
      }
    }
  }
}

}  // namespace

TEST_CASE("the log of versions read is the published table, and what the program says") {
  for_each_case([](const std::string& name, std::int32_t p, std::int64_t n, bool slots) {
    const TrainOptions options = flush_free_run(name, p, n, slots);
    const TrainResult result = train(options);
    std::size_t reads = 0;
    for (const auto& device : result.versions) {
      for (const VersionRead& read : device) {
        const ReadVersions expected = published(name, p, n, slots, static_cast<std::int64_t>(read.action.microbatch),
                                                static_cast<std::int64_t>(read.action.stage));
        CHECK(read.version == (read.action.op == Op::kF ? expected.forward : expected.backward));
        ++reads;
      }
    }
    CHECK(reads == static_cast<std::size_t>(2 * p * options.schedule.num_microbatches));
  });
}

TEST_CASE("asynchronous weights and gradients are those of a reference that keeps every version, bit for bit") {
  for_each_case([](const std::string& name, std::int32_t p, std::int64_t n, bool slots) {
    const TrainOptions options = flush_free_run(name, p, n, slots);
    const TrainResult result = train(options);
    const TrainResult expected = reference_training(
        options, [&](std::int64_t k, std::int64_t stage) { return published(name, p, n, slots, k, stage); });
    CHECK(equal(result.parameters, expected.parameters));
    CHECK(equal(result.gradients, expected.gradients));
    CHECK(result.losses == expected.losses);
  });
}

TEST_CASE("the two methods differ: pipemare's backward reads newer weights than pipedream's") {
  CHECK_FALSE(equal(train(flush_free_run("pipedream", 3, 1, false)).parameters,
                    train(flush_free_run("pipemare", 3, 1, false)).parameters));
}

TEST_CASE("uniform delay and vertical sync train as the reference with their versions, bit for bit") {
  TrainOptions options = flush_free_run("pipedream", 4, 2, false);
  options.schedule.weights.policy = WeightPolicy::kDelay;
  options.schedule.weights.delay = 2;
  const auto delayed = [](std::int64_t k, std::int64_t) {
    const std::int64_t version = std::max<std::int64_t>(k / 2 - 2, 0);
    return ReadVersions{version, version};
  };
  CHECK(equal(train(options).parameters, reference_training(options, delayed).parameters));
  options.schedule.weights.policy = WeightPolicy::kVerticalSync;
  const auto vertical = [](std::int64_t k, std::int64_t) {
    const std::int64_t version = published("pipedream", 4, 2, false, k, 0).forward;
    return ReadVersions{version, version};
  };
  CHECK(equal(train(options).parameters, reference_training(options, vertical).parameters));
}

}  // namespace plumb

TEST_SUITE_END();
