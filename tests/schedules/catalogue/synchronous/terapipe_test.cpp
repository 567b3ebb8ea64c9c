#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule terapipe(std::int64_t p, std::int64_t m, std::map<std::string, std::string> options) {
  return generate("terapipe",
                  {.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m, .options = std::move(options)});
}

}  // namespace

TEST_CASE("terapipe runs the slices of all microbatches forward in order and backward in reverse") {
  for (const std::int64_t p : {1, 2, 5}) {
    for (const std::int64_t m : {1, 2, 7}) {
      for (const std::int64_t k : {1, 2, 3, 8}) {
        const Schedule schedule = terapipe(p, m, {{"slices", std::to_string(k)}});
        for (std::int64_t d = 0; d < p; ++d) {
          const auto text = [&](const char* op, std::int64_t i) {
            return std::to_string(d) + op + std::to_string(i / k) + "." + std::to_string(i % k) + " ";
          };
          std::string expected;
          for (std::int64_t i = 0; i < m * k; ++i) expected += text("F", i);
          for (std::int64_t i = m * k - 1; i >= 0; --i) expected += text("B", i);
          CHECK(list_text(schedule, d) == expected + std::to_string(d) + "U0");
        }
      }
    }
  }
}

TEST_CASE("a step of terapipe takes the sum of its slices and the longest p - 1 times") {
  for (const auto& lengths : {std::vector<std::int64_t>{4, 3, 2, 1}, {1, 1, 1, 1}, {1, 5, 2}, {7}}) {
    for (const std::int64_t p : {1, 2, 4, 7}) {
      for (const std::int64_t m : {1, 3}) {
        std::string text;
        for (const std::int64_t length : lengths) text += (text.empty() ? "" : ",") + std::to_string(length);
        CAPTURE(text);
        CAPTURE(p);
        CAPTURE(m);
        const std::int64_t sum = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
        const std::int64_t longest = *std::max_element(lengths.begin(), lengths.end());
        const Replay run = replay(terapipe(p, m, {{"lengths", text}}), {.f = 1, .b = 2});
        CHECK(run.makespan == 3 * (m * sum + (p - 1) * longest));
      }
    }
  }
}

TEST_CASE("terapipe with slices that take 4, 3, 2 and 1 on four devices takes the published 22") {
  // Forward and backward take half each, so that a slice of length n takes n (here: 2n in units of a half).
  CHECK(replay(terapipe(4, 1, {{"lengths", "4,3,2,1"}}), {.f = 1, .b = 1}).makespan == 2 * 22);
}

TEST_CASE("every device of terapipe keeps all slices of all microbatches") {
  CHECK(peak_stashes(terapipe(3, 5, {{"slices", "4"}})) == std::vector<std::int64_t>(3, 20));
}

TEST_CASE("the lengths that terapipe searches make the step shorter than equal ones") {
  const auto step = [](const Schedule& schedule) { return schedule.slices->lengths[0]; };
  const std::string model = "24x2048x8192x16x50000";
  const auto searched =
      step(terapipe(24, 1, {{"lengths", "search"}, {"tokens", "2048"}, {"model", model}, {"overhead", "64"}}));
  CHECK(std::accumulate(searched.begin(), searched.end(), std::int64_t{0}) == 2048);
  CHECK(searched.size() > 1);
  CHECK(searched.front() >= searched.back());  // later tokens have more context to look at
}

TEST_CASE("terapipe names the option that cannot be") {
  const auto message = [](std::map<std::string, std::string> options) {
    return error_message([&] { terapipe(2, 2, options); });
  };
  CHECK(message({{"lengths", "4,x"}}) ==
        "terapipe: option lengths: expected equal, work, search or numbers like 4,3,2,1, found '4,x'");
  CHECK(message({{"lengths", "work"}}) == "terapipe: option lengths=work needs tokens=N, the length of a sequence");
  CHECK(message({{"lengths", "work"}, {"tokens", "64"}}) ==
        "terapipe: option model: expected LAYERSxHIDDENxFEEDFORWARDxHEADSxVOCABULARY, hidden a multiple of heads, "
        "found none");
  CHECK(message({{"lengths", "search"}, {"tokens", "60"}, {"model", "2x8x8x2x9"}, {"multiple", "7"}}) ==
        "terapipe: option multiple (7) must divide tokens (60) into at most 256");
}

TEST_CASE("the picture of terapipe is the one in tests/golden") {
  const std::string actual = picture(terapipe(4, 1, {}), {});
  CHECK(actual == golden("schedules/terapipe.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
