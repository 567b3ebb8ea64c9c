#include <functional>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "schedules/checks/validate.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/reference_training.hpp"
#include "tests/support/written_schedule.hpp"
#include "tests/trainer/predicted_run.hpp"
#include "tests/trainer/training_cases.hpp"
#include "trainer/train.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb {
namespace {

TrainOptions segmented(std::int32_t p, std::int64_t m, std::int64_t segment, const std::string& synchronous = "0") {
  ScheduleParams params{.num_devices = p, .num_microbatches = m, .updates = 12 / m};
  params.options = {{"timing", "slots"}, {"segment", std::to_string(segment)}, {"synchronous", synchronous}};
  TrainOptions options = tiny_run("pipemare", params, 7);
  options.optimization.steps = 12 / m;
  options.optimization.optimizer.kind = OptimizerKind::kSgd;
  return options;
}

Recompute segment_of(std::int32_t first_stage, std::int32_t last_stage) {
  Recompute rule;
  rule.first_stage = first_stage;
  rule.last_stage = last_stage;
  rule.segment = true;
  return rule;
}

/// What the run says that it has read, for the reference.
std::function<ReadVersions(std::int64_t, std::int64_t)> reads_of(const TrainOptions& options,
                                                                 const TrainResult& result) {
  std::map<std::pair<std::int64_t, std::int64_t>, ReadVersions> read;
  for (const auto& device : result.versions) {
    for (const VersionRead& one : device) {
      ReadVersions& versions =
          read[{static_cast<std::int64_t>(one.action.microbatch), static_cast<std::int64_t>(one.action.stage)}];
      if (one.action.op == Op::kF) versions.forward = one.version;
      if (one.action.op == Op::kR) versions.replay = one.version;
      if (one.action.op == Op::kB) versions.backward = one.version;
    }
  }
  const std::vector<Recompute> rules = options.schedule.recompute;
  return [=](std::int64_t k, std::int64_t stage) {
    ReadVersions versions = read.at({k, stage});
    for (const Recompute& rule : rules) {
      if (rule.first_stage == stage && rule.last_stage == stage) versions.recompute = true;
      if (rule.first_stage < stage && stage <= rule.last_stage) versions.replay_follows = true;
    }
    return versions;
  };
}

}  // namespace

TEST_CASE("segments are replayed with the weights of their slots, as in a reference that keeps every version") {
  for (const std::int32_t p : {2, 3, 5}) {
    for (const std::int64_t m : {1, 2, 4}) {
      for (std::int64_t segment = 1; segment <= p; ++segment) {
        for (const std::string synchronous : {"0", "1"}) {
          CAPTURE(p);
          CAPTURE(m);
          CAPTURE(segment);
          CAPTURE(synchronous);
          TrainOptions options = segmented(p, m, segment, synchronous);
          const TrainResult result = train(options);
          const TrainResult expected = reference_training(options, reads_of(options, result));
          CHECK(largest_difference(result.parameters, expected.parameters) == 0);
          CHECK(result.losses == expected.losses);
          check_same_memory(result.timeline.value(), predicted(options));
          options.execution.executor = "threads";
          CHECK(train(options).weights_hash == result.weights_hash);
        }
      }
    }
  }
}

TEST_CASE("a stage at place r of S is replayed with the weights of 2(S - r) + 1 slots before its backward") {
  const std::int64_t p = 5;
  const std::int64_t segment = 3;
  const TrainOptions options = segmented(p, 1, segment);
  const auto reads = reads_of(options, train(options));
  for (std::int64_t stage = 0; stage < segment; ++stage) {
    CAPTURE(stage);
    const ReadVersions read = reads(11, stage);
    CHECK(read.backward - read.replay == 2 * (segment - 1 - stage) + 1);
  }
}

TEST_CASE("a synchronous segment changes no bit, and costs less activation memory") {
  std::vector<std::string> lists;
  for (const std::string stage : {"0", "1", "2"}) {
    std::string& list = lists.emplace_back();
    for (const std::string k : {"0", "1", "2", "3", "4", "5", "6", "7"}) list += stage + "F" + k + " ";
    for (const std::string k : {"0", "1", "2", "3", "4", "5", "6", "7"})
      list += stage + "R" + k + " " + stage + "B" + k + " ";
    list += stage + "U0";
  }
  const Schedule plain = testing::written_schedule({lists.begin(), lists.end()}, 8);
  TrainOptions options = tiny_run(plain, 7, false);
  const TrainResult kept = train(options);
  options.schedule.recompute = {segment_of(0, 2)};
  CHECK(validate(options.schedule).empty());
  const TrainResult result = train(options);
  CHECK(result.weights_hash == kept.weights_hash);
  const Timeline expected = predicted(options);
  check_same_memory(result.timeline.value(), expected);
  CHECK(expected.devices[1].peak_memory_bytes < predicted(tiny_run(plain, 7, false)).devices[1].peak_memory_bytes);
}

TEST_CASE("what segments cannot be is said in one line") {
  TrainOptions options = segmented(3, 1, 3);
  options.schedule.recompute[0].except_last_microbatch = true;
  CHECK(testing::error_message([&] { train(options); }) ==
        "schedule 'pipemare': recompute of stages 0 to 2: a segment replays all microbatches; expected "
        "\"microbatches\": \"all\"");
  options = segmented(3, 1, 3);
  options.schedule.recompute.push_back(segment_of(1, 1));
  options.schedule.recompute.back().segment = false;
  CHECK(
      testing::error_message([&] { train(options); }) ==
      "schedule 'pipemare': recompute of stages 0 to 2: a segment stands alone; expected no other rule for its stages");
  Schedule missing = testing::written_schedule({"0F0 0R0 0B0 0U0", "1F0 1B0 1U0"}, 1);
  missing.recompute = {segment_of(0, 1)};
  const auto findings = validate(missing);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].action == "1R0");
  CHECK(testing::error_message([] {
          generate("pipemare",
                   {.num_devices = 2, .num_microbatches = 1, .options = {{"segment", "2"}, {"timing", "1f1b"}}});
        }) == "pipemare: segment: recompute of segments needs timing=slots");
}

}  // namespace plumb

TEST_SUITE_END();
