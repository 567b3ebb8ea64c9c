#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "schedules/catalogue/registry.hpp"
#include "schedules/document/methods.hpp"
#include "schedules/lowering/lower.hpp"
#include "schedules/versions/predicted_reads.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/unrolled.hpp"
#include "tests/support/versions_read.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Prediction prediction(const char* name, std::int32_t p, std::int64_t m, const std::string& which = "") {
  ScheduleParams params{.num_devices = p, .num_microbatches = m};
  if (!which.empty()) params.options = {{"prediction", which}};
  return generate(name, params).weights.prediction;
}

using Steps = std::vector<std::int32_t>;

/// By stage and microbatch: how far ahead the op reads.
std::int32_t steps_of(const Schedule& schedule, const Program& program, Op op, std::int32_t stage, std::int32_t k) {
  const std::vector<PredictedRead> reads = predicted_reads(schedule, program);
  for (InstrIndex at = 0; at < program.size(); ++at) {
    const Action& action = program.instrs[at].action;
    if (action.op == op && action.stage == StageId{stage} && action.microbatch == MicrobatchId{k})
      return reads[at].steps;
  }
  return -1;
}

}  // namespace

TEST_CASE("spectrain looks as many updates ahead as published") {
  CHECK(prediction("spectrain", 3, 1).forward == Steps{2, 1, 1});
  CHECK(prediction("spectrain", 3, 1).backward == Steps{0, 0, 1});
  CHECK(prediction("spectrain", 4, 1).forward == Steps{3, 2, 2, 1});
  CHECK(prediction("spectrain", 4, 1).backward == Steps{0, 0, 1, 1});
  CHECK(prediction("spectrain", 8, 1).forward == Steps{7, 6, 6, 5, 5, 4, 4, 3});
  CHECK(prediction("spectrain", 8, 1).backward == Steps{0, 0, 1, 1, 2, 2, 3, 3});
  CHECK(prediction("spectrain", 4, 1, "released").forward == Steps{3, 2, 1, 0});
  CHECK(prediction("spectrain", 4, 1, "released").backward.empty());
}

TEST_CASE("spectrain's forward and backward aim at one moment, where microbatch k has updated stage 0") {
  for (const std::int32_t p : {1, 2, 5, 8}) {
    const std::int64_t updates = 4 * p;
    const Prediction ahead = prediction("spectrain", p, 1);
    const VersionsRead reads = versions_read(generate(
        "pipemare", {.num_devices = p, .num_microbatches = 1, .updates = updates, .options = {{"timing", "1f1b"}}}));
    for (std::int64_t k = 2 * p; k < updates; ++k) {
      for (std::int64_t r = 0; r < p; ++r) {
        const auto at = static_cast<std::size_t>(r);
        const std::int64_t forward = reads.forward.at({k, r}) + ahead.forward[at];
        CHECK(forward == reads.backward.at({k, r}) + ahead.backward[at]);
        CHECK(forward == k + r / 2);
      }
    }
  }
}

TEST_CASE("pipeoptim's forward aims at the version that its backward finds") {
  CHECK(prediction("pipeoptim", 4, 1).forward == Steps{3, 2, 1, 0});
  CHECK(prediction("pipeoptim", 4, 1).backward == Steps{0, 0, 0, 0});
  const Schedule schedule = generate("pipeoptim", {.num_devices = 5, .num_microbatches = 1, .updates = 20});
  const VersionsRead reads = versions_read(schedule);
  for (const auto& [key, version] : reads.forward) {
    const std::int32_t aimed = version + schedule.weights.prediction.forward[static_cast<std::size_t>(key.second)];
    if (key.first >= 4) CHECK(aimed == reads.backward.at(key));
  }
}

TEST_CASE("with one microbatch per update in 1F1B order the steps that follow from the order are the published ones") {
  for (const std::string name : {"spectrain", "pipeoptim"}) {
    CAPTURE(name);
    const Schedule schedule = generate(name, {.num_devices = 4, .num_microbatches = 1, .updates = 24});
    const Program program = lowered(schedule);
    for (std::int32_t stage = 0; stage < 4; ++stage) {
      for (std::int32_t k = 4; k < 18; ++k) {
        CHECK(steps_of(schedule, program, Op::kF, stage, k) ==
              schedule.weights.prediction.forward[index(StageId{stage})]);
        CHECK(steps_of(schedule, program, Op::kB, stage, k) ==
              schedule.weights.prediction.backward[index(StageId{stage})]);
      }
    }
  }
}

TEST_CASE("with more microbatches per update a forward looks ahead to the version of the moment, in every order") {
  for (const std::string timing : {"1f1b", "slots"}) {
    for (const std::int64_t m : {1, 2, 3, 8}) {
      CAPTURE(timing);
      CAPTURE(m);
      Schedule schedule = generate(
          "pipemare", {.num_devices = 4, .num_microbatches = m, .updates = 30, .options = {{"timing", timing}}});
      const VersionsRead reads = versions_read(schedule);
      const Schedule own = with_methods(schedule, "pipeoptim");
      const Schedule trip = with_methods(schedule, "spectrain");
      const Program own_program = lowered(own);
      const Program trip_program = lowered(trip);
      for (std::int32_t stage = 0; stage < 4; ++stage) {
        for (std::int32_t k = 12; k < 18; ++k) {
          const std::int32_t read = reads.forward.at({k, stage});
          CHECK(steps_of(own, own_program, Op::kF, stage, k) == k / m - read);
          CHECK(steps_of(own, own_program, Op::kB, stage, k) == 0);
          // Back at stage 0: backwards of the stage after its own, as published for 1F1B; one in every slot.
          const std::int32_t until_back = timing == "slots" ? stage : stage / 2;
          CHECK(steps_of(trip, trip_program, Op::kF, stage, k) == (k + until_back) / m - read);
          CHECK(steps_of(trip, trip_program, Op::kB, stage, k) == (k + until_back) / m - k / m);
        }
      }
    }
  }
}

TEST_CASE("predictions end at a flushed phase, and keep the published distances when asked to") {
  const Schedule phased = with_methods(
      generate("pipemare", {.num_devices = 3, .num_microbatches = 2, .updates = 8, .options = {{"timing", "1f1b"}}}),
      "pipeoptim,t3:updates=3");
  const Program program = lowered(phased);
  for (std::int32_t k = 0; k < 6; ++k) CHECK(steps_of(phased, program, Op::kF, 0, k) == 0);
  CHECK(steps_of(phased, program, Op::kF, 0, 6) == 0);  // the pipeline is filled with the weights of its own update
  const Schedule fixed = generate(
      "pipeoptim", {.num_devices = 4, .num_microbatches = 8, .updates = 4, .options = {{"ahead", "published"}}});
  const Program as_published = lowered(fixed);
  CHECK(steps_of(fixed, as_published, Op::kF, 0, 17) == 3);
  CHECK(steps_of(fixed, as_published, Op::kF, 3, 17) == 0);
}

TEST_CASE("in slots xpipe aims at the slot in which the last microbatch of the update is back at stage 0") {
  for (const std::int32_t p : {2, 4, 7}) {
    for (const std::int64_t m : {1, 3, 4}) {
      CAPTURE(p);
      CAPTURE(m);
      const Schedule schedule = with_methods(
          generate("pipemare",
                   {.num_devices = p, .num_microbatches = m, .updates = 4, .options = {{"timing", "slots"}}}),
          "xpipe");
      for (std::int32_t r = 0; r < p; ++r) {
        const std::int64_t first_forward = r;                       // slot of F of microbatch 0
        const std::int64_t first_backward = 2 * p - 1 - r;          // of its B
        const std::int64_t back = m - 1 + 2 * std::int64_t{p} - 1;  // of B of the last microbatch at stage 0
        const auto rounded = [&](std::int64_t slots) {
          const double updates = static_cast<double>(slots) / static_cast<double>(m);
          return static_cast<std::int32_t>(std::nearbyint(updates));  // halves to even
        };
        const auto at = static_cast<std::size_t>(r);
        CHECK(schedule.weights.prediction.forward[at] == rounded(back - first_forward));
        CHECK(schedule.weights.prediction.backward[at] == rounded(back - first_backward));
      }
    }
  }
}

TEST_CASE("xpipe looks as many updates ahead as published, for the whole update") {
  CHECK(prediction("xpipe", 4, 2).forward == Steps{2, 2, 2, 1});
  CHECK(prediction("xpipe", 4, 2).backward == Steps{0, 0, 1, 1});
  CHECK(prediction("xpipe", 4, 2).once_per_update);
  CHECK_FALSE(prediction("spectrain", 4, 2).once_per_update);
}

TEST_CASE("predicting schedules have the lists of pipedream, one version of the weights, and room for predictions") {
  const ScheduleParams params{.num_devices = 4, .num_microbatches = 3, .updates = 7};
  for (const std::string name : {"spectrain", "xpipe", "pipeoptim"}) {
    CAPTURE(name);
    const Schedule schedule = generate(name, params);
    CHECK(schedule.devices == generate("pipedream", params).devices);
    CHECK(schedule.weights.methods == std::vector<Method>{{name, {}}});
    CHECK(most_versions(schedule) == std::vector<std::int64_t>{1, 1, 1, 1});
    const VersionsRead reads = versions_read(schedule);
    for (const auto& [key, version] : reads.forward) {
      CHECK(version == newest_at_forward(key.first, 3 - key.second, 3));
      CHECK(reads.backward.at(key) == key.first / 3);
    }
  }
}

TEST_CASE("the pictures of the predicting schedules are the ones in tests/golden") {
  for (const std::string name : {"spectrain", "xpipe", "pipeoptim"}) {
    const std::string actual = picture(generate(name, {.num_devices = 3, .num_microbatches = 2, .updates = 4}), {});
    CHECK(actual == golden("schedules/" + name + ".txt", actual));
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
