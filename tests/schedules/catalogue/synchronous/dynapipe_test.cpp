#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/stage_list.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule dynapipe(std::int64_t p, std::int64_t m, std::map<std::string, std::string> options = {}) {
  return generate("dynapipe",
                  {.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m, .options = std::move(options)});
}

std::int64_t dynapipe_makespan(const Schedule& schedule) { return replay(schedule, {.f = 1, .b = 2}).makespan; }

}  // namespace

TEST_CASE("with equal microbatches and no limit the cycles of dynapipe are DAPPLE's long warm-up") {
  for (const std::int64_t p : {1, 2, 3, 4, 7}) {
    for (const std::int64_t m : {1, 2, 5, 8, 20}) {
      const Schedule cyclic = dynapipe(p, m);
      for (std::int64_t d = 0; d < p; ++d) {
        const std::int64_t warmup = std::min(2 * (p - d) - 1, m);
        std::string expected;
        const auto add = [&](const char* op, std::int64_t k) {
          expected += (expected.empty() ? "" : " ") + std::string(op) + std::to_string(k);
        };
        for (std::int64_t k = 0; k < warmup; ++k) add("F", k);
        for (std::int64_t k = 0; k < m; ++k) {
          add("B", k);
          if (warmup + k < m) add("F", warmup + k);
        }
        CHECK(stage_list(cyclic, d) == expected);
      }
      CHECK(dynapipe_makespan(cyclic) == 3 * (m + p - 1));
    }
  }
}

TEST_CASE("dynapipe lists with a limit of four are those of the released code") {
  const Schedule schedule = dynapipe(4, 8, {{"limit", "4"}});
  CHECK(stage_list(schedule, 0) == "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7");
  CHECK(stage_list(schedule, 1) == "F0 F1 F2 F3 B0 B1 B2 F4 B3 F5 F6 F7 B4 B5 B6 B7");
  CHECK(stage_list(schedule, 2) == "F0 F1 F2 B0 F3 B1 B2 B3 F4 F5 F6 B4 F7 B5 B6 B7");
  CHECK(stage_list(schedule, 3) == "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7");
  CHECK(dynapipe_makespan(schedule) == 36);
  CHECK(peak_stashes(schedule) == std::vector<std::int64_t>{4, 4, 3, 1});
}

TEST_CASE("no device of dynapipe keeps more than its limit") {
  for (const std::int64_t limit : {1, 2, 3, 9}) {
    const Schedule schedule = dynapipe(5, 12, {{"limit", std::to_string(limit)}, {"sizes", "3,1,2,7,5"}});
    CHECK(validate(schedule).empty());
    const auto peaks = peak_stashes(schedule);
    CHECK(*std::max_element(peaks.begin(), peaks.end()) == std::min<std::int64_t>(limit, 9));
  }
}

TEST_CASE("over microbatches of random length, cycles take less time than 1f1b") {
  std::mt19937 random(7);
  std::int64_t cyclic = 0;
  std::int64_t alternating = 0;
  for (int draw = 0; draw < 40; ++draw) {
    std::string sizes;
    for (int k = 0; k < 16; ++k) sizes += (k > 0 ? "," : "") + std::to_string(1 + random() % 4);
    const Schedule schedule = dynapipe(4, 16, {{"sizes", sizes}});
    Schedule other = generate("1f1b", {.num_devices = 4, .num_microbatches = 16});
    other.microbatch_sizes = schedule.microbatch_sizes;
    cyclic += dynapipe_makespan(schedule);
    alternating += dynapipe_makespan(other);
  }
  CHECK(cyclic < alternating);
}

TEST_CASE("the searched order holds the same microbatches and is never slower than the given one") {
  std::mt19937 random(11);
  bool better = false;
  for (int draw = 0; draw < 20; ++draw) {
    std::string sizes;
    for (int k = 0; k < 12; ++k) sizes += (k > 0 ? "," : "") + std::to_string(1 + random() % 9);
    const Schedule given = dynapipe(4, 12, {{"sizes", sizes}});
    const Schedule searched = dynapipe(4, 12, {{"sizes", sizes}, {"order", "search"}});
    CHECK(std::is_permutation(searched.microbatch_sizes.begin(), searched.microbatch_sizes.end(),
                              given.microbatch_sizes.begin()));
    CHECK(dynapipe_makespan(searched) <= dynapipe_makespan(given));
    better = better || dynapipe_makespan(searched) < dynapipe_makespan(given);
  }
  CHECK(better);
}

TEST_CASE("the searched order is the best one of three groups, joined so that sizes spread least") {
  // 4 and 6 are joined first (their squared distances from 5 are 2), then 1 with both (10.67 more): 21 and 26 would add
  // 12.5. The groups are 1, 4 and 6; 21; 26.
  const Schedule searched = dynapipe(3, 5, {{"sizes", "6,26,1,21,4"}, {"order", "search"}});
  std::vector<std::string> groups{"1,4,6", "21", "26"};
  std::int64_t shortest = dynapipe_makespan(dynapipe(3, 5, {{"sizes", "6,26,1,21,4"}}));
  do {
    const std::string sizes = groups[0] + "," + groups[1] + "," + groups[2];
    shortest = std::min(shortest, dynapipe_makespan(dynapipe(3, 5, {{"sizes", sizes}})));
  } while (std::next_permutation(groups.begin(), groups.end()));
  CHECK(dynapipe_makespan(searched) == shortest);
}

TEST_CASE("sizes that are no sizes are refused") {
  CHECK(error_message([] {
          dynapipe(2, 2, {{"sizes", "3,,2"}});
        }) == "dynapipe: option sizes: expected whole numbers of at least 1 like 3,1,2, found '3,,2'");
  CHECK(error_message([] {
          dynapipe(2, 2, {{"sizes", "0"}});
        }) == "dynapipe: option sizes: expected whole numbers of at least 1 like 3,1,2, found '0'");
}

TEST_CASE("the picture of dynapipe is the one in tests/golden") {
  const std::string actual = picture(dynapipe(4, 6, {{"sizes", "1,3,2"}}), {});
  CHECK(actual == golden("schedules/dynapipe.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
