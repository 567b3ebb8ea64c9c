#include <doctest/doctest.h>

#include <algorithm>

#include "models/ground/error.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule with_barriers(const char* barriers, std::int32_t p, std::int64_t m) {
  return generate("1f1b-vocab", {.num_devices = p, .num_microbatches = m, .options = {{"barriers", barriers}}});
}

/// Largest number of microbatches between F and B of the stage with layers, by device.
std::vector<std::int64_t> kept_microbatches(const Schedule& schedule) {
  std::vector<std::int64_t> most;
  for (std::int32_t d = 0; d < schedule.num_devices; ++d) {
    std::int64_t kept = 0;
    most.push_back(0);
    for (const Action& action : expand(schedule.devices[static_cast<std::size_t>(d)])) {
      if (action.stage != StageId{d}) continue;
      kept += action.op == Op::kF ? 1 : action.op == Op::kB ? -1 : 0;
      most.back() = std::max(most.back(), kept);
    }
  }
  return most;
}

}  // namespace

TEST_CASE("1f1b-vocab computes S of all shares a turn before the backward that waits for them") {
  const Schedule one = with_barriers("1", 2, 3);
  CHECK(list_text(one, 0) ==
        "4F0 4F1 0F0 4F2 0F1 2F0 2I0 0F2 2W0 2F1 2I1 0B0 2W1 2F2 2I2 0B1 2W2 4B0 0B2 4B1 4B2 0U0 2U0 4U0");
  CHECK(list_text(one, 1) ==
        "5F0 5F1 5F2 1F0 3F0 3I0 1F1 1B0 3W0 3F1 3I1 1F2 1B1 3W1 3F2 3I2 1B2 3W2 5B0 5B1 5B2 1U0 3U0 5U0");
  const Schedule two = with_barriers("2", 2, 3);
  CHECK(list_text(two, 0) == "4F0 4F1 0F0 4F2 0F1 2F0 0F2 2B0 2F1 2B1 2F2 0B0 2B2 0B1 4B0 0B2 4B1 4B2 0U0 2U0 4U0");
  CHECK(list_text(two, 1) == "5F0 5F1 5F2 1F0 3F0 1F1 3B0 3F1 1F2 1B0 3B1 3F2 1B1 3B2 1B2 5B0 5B1 5B2 1U0 3U0 5U0");
}

TEST_CASE("1f1b-vocab and 1f1b-interlaced are idle no longer than 1f1b: m(F + B + S + T) + (p - 1)(F + B)") {
  const UnitTimes times{.f = 2, .b = 4, .i = 2, .w = 2, .s = 1, .t = 1};
  for (const std::int32_t p : {2, 3, 4, 6, 8, 13}) {
    for (const std::int64_t m : {std::int64_t{p}, std::int64_t{2} * p, std::int64_t{3} * p + 1}) {
      CAPTURE(p);
      CAPTURE(m);
      const std::int64_t full = m * 8 + (p - 1) * 6;
      CHECK(replay(with_barriers("1", p, m), times).makespan == full - times.t);  // nothing waits for the last T
      CHECK(replay(with_barriers("2", p, m), times).makespan == full);
      CHECK(replay(generate("1f1b-interlaced", {.num_devices = p, .num_microbatches = m}), times).makespan == full);
    }
  }
}

TEST_CASE("every barrier costs one microbatch more than 1f1b keeps, and computing at once half as many again") {
  for (const std::int32_t p : {2, 4, 8}) {
    CAPTURE(p);
    std::vector<std::int64_t> plain;
    for (std::int32_t d = 0; d < p; ++d) plain.push_back(p - d);
    const auto more = [&](std::int64_t each) {
      std::vector<std::int64_t> sum = plain;
      for (std::int64_t& kept : sum) kept += each;
      return sum;
    };
    CHECK(kept_microbatches(with_barriers("1", p, 4 * p)) == more(1));
    CHECK(kept_microbatches(with_barriers("2", p, 4 * p)) == more(2));
    CHECK(kept_microbatches(generate("1f1b-interlaced", {.num_devices = p, .num_microbatches = 4 * p})) == more(p / 2));
  }
}

TEST_CASE("1f1b-vocab runs with fewer microbatches than devices, and needs two devices") {
  for (const char* barriers : {"1", "2"}) {
    for (const std::int64_t m : {1, 2, 3, 5}) {
      CAPTURE(m);
      const Schedule schedule = with_barriers(barriers, 6, m);
      CHECK(validate(schedule).empty());
      CHECK(replay(schedule, {}).finished);
    }
  }
  CHECK_THROWS_WITH_AS(with_barriers("1", 1, 4), "1f1b-vocab: num_devices (1) must be at least 2", Error);
}

TEST_CASE("a document whose vocabulary names a stage twice, or all of them, is refused") {
  Schedule schedule = with_barriers("1", 2, 3);
  schedule.vocabulary->input.back() = schedule.vocabulary->output.back();
  REQUIRE(validate(schedule).size() == 1);
  CHECK(to_string(validate(schedule).front()).find("vocabulary: names stage 3 twice") != std::string::npos);
  schedule.vocabulary->input.pop_back();
  CHECK(to_string(validate(schedule).front()).find("input names 1 stages and output 2") != std::string::npos);
}

TEST_CASE("the pictures of schedules that divide the vocabulary are those in tests/golden") {
  const UnitTimes times{.f = 2, .b = 4, .i = 2, .w = 2, .s = 1, .t = 1};
  const std::string turns = picture(with_barriers("1", 3, 6), times);
  CHECK(turns == golden("schedules/1f1b_vocab.txt", turns));
  const std::string at_once = picture(generate("1f1b-interlaced", {.num_devices = 3, .num_microbatches = 6}), times);
  CHECK(at_once == golden("schedules/1f1b_interlaced.txt", at_once));
}

}  // namespace plumb::testing

TEST_SUITE_END();
