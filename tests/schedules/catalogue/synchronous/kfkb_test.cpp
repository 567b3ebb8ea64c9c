#include <doctest/doctest.h>

#include <algorithm>
#include <variant>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule kfkb(std::int64_t p, std::int64_t m, std::int64_t k) {
  return generate(
      "kfkb",
      {.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m, .options = {{"k", std::to_string(k)}}});
}

}  // namespace

TEST_CASE("kfkb is 1f1b over groups of k, the last of which may be shorter") {
  for (const std::int64_t p : {1, 2, 4}) {
    for (const std::int64_t m : {1, 2, 5, 8, 12, 13, 30}) {
      for (std::int64_t k = 1; k <= m; ++k) {
        const Schedule schedule = kfkb(p, m, k);
        const std::int64_t groups = (m + k - 1) / k;
        for (std::int64_t d = 0; d < p; ++d) {
          CAPTURE(p);
          CAPTURE(m);
          CAPTURE(k);
          CAPTURE(d);
          Unrolled list;
          const auto group = [&](const char* op, std::int64_t g) {
            for (std::int64_t i = g * k; i < std::min(g * k + k, m); ++i) list.add(d, op, i);
          };
          std::int64_t f = 0;
          for (; f < std::min(p - d, groups); ++f) group("F", f);
          for (std::int64_t b = 0; b < groups; ++b) {
            group("B", b);
            if (f < groups) group("F", f++);
          }
          list.add(d, "U", 0);
          CHECK(list_text(schedule, d) == list.text());
        }
      }
    }
  }
}

TEST_CASE("kfkb takes (m + p - 1)(F + B) whatever k, and device d keeps min(k (p - d), m) activations") {
  for (const std::int64_t p : {1, 2, 4}) {
    for (const std::int64_t k : {1, 2, 4}) {
      for (const std::int64_t groups : {1, 2, 5}) {
        CAPTURE(p);
        CAPTURE(k);
        CAPTURE(groups);
        const std::int64_t m = groups * k;
        CHECK(replay(kfkb(p, m, k), {.f = 1, .b = 2}).makespan == (m + p - 1) * 3);
        std::vector<std::int64_t> peaks;
        for (std::int64_t d = 0; d < p; ++d) peaks.push_back(std::min(k * (p - d), m));
        CHECK(peak_stashes(kfkb(p, m, k)) == peaks);
      }
    }
  }
}

TEST_CASE("kfkb with k = 1 is 1f1b, with k = m GPipe that takes its backwards from the first") {
  const Schedule alternating = generate("1f1b", {.num_devices = 4, .num_microbatches = 9});
  const Schedule gpipe = generate("gpipe", {.num_devices = 4, .num_microbatches = 9, .options = {{"order", "fifo"}}});
  for (std::int64_t d = 0; d < 4; ++d) {
    CHECK(list_text(kfkb(4, 9, 1), d) == list_text(alternating, d));
    CHECK(list_text(kfkb(4, 9, 9), d) == list_text(gpipe, d));
  }
}

TEST_CASE("k=auto takes the smallest k that hides the transfers and fits into memory") {
  const auto chosen = [](Ticks transfer, double limit, std::int64_t m = 16) {
    ScheduleParams params{.num_devices = 4, .num_microbatches = m, .options = {{"k", "auto"}}, .memory_limit = limit};
    params.costs = [transfer](std::int32_t stages) {
      StageCosts costs;
      costs.times.assign(static_cast<std::size_t>(stages), StageTimes{.f = 4, .b = 8, .i = 4, .w = 4});
      costs.comm = transfer;
      return costs;
    };
    return std::get<std::int64_t>(generate("kfkb", params).parameters.at("k"));
  };
  CHECK(chosen(0, 0) == 1);
  CHECK(chosen(1, 0) == 2);
  CHECK(chosen(4, 0) == 2);
  CHECK(chosen(6, 0) == 2);
  CHECK(chosen(8, 0) == 4);
  CHECK(chosen(4, 7) == 1);
  CHECK(chosen(4, 8) == 2);
  CHECK(chosen(4, 0, 1'000'000'000) == 2);
  CHECK_THROWS_WITH(chosen(4, 3), "kfkb: memory limit leaves no room for k = 1");
}

TEST_CASE("kfkb names the rule that a request breaks") {
  CHECK(error_message([] { kfkb(4, 8, 9); }) == "kfkb: k (9) must be at most num_microbatches (8)");
}

TEST_CASE("the picture of kfkb is the one in tests/golden") {
  const std::string actual = picture(generate("kfkb", {.num_devices = 3, .num_microbatches = 6}), {});
  CHECK(actual == golden("schedules/kfkb.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
