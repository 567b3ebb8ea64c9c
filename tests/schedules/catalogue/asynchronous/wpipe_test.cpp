#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/unrolled.hpp"
#include "tests/support/versions_read.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule grouped(std::int32_t p, std::int64_t m, std::int64_t updates) {
  return generate("wpipe", {.num_devices = p, .num_microbatches = m, .updates = updates});
}

template <class Check>
void for_each_wpipe(const Check& check) {
  for (const std::int64_t p : {1, 2, 3, 4, 6}) {
    for (const std::int64_t m : {1, 2, 3, 5, 8, 12}) {
      if (m < p - 1) continue;
      CAPTURE(p);
      CAPTURE(m);
      check(p, m);
    }
  }
}

}  // namespace

TEST_CASE("wpipe runs both groups in turn, forwards m + p - 1 - d ahead of backwards") {
  for_each_wpipe([](std::int64_t p, std::int64_t m) {
    for (const std::int64_t updates : {1, 2, 5}) {
      CAPTURE(updates);
      const Schedule schedule = grouped(static_cast<std::int32_t>(p), m, updates);
      for (std::int64_t d = 0; d < p; ++d) {
        std::vector<std::pair<std::int64_t, std::int64_t>> forwards;  // stage, microbatch
        std::vector<std::pair<std::int64_t, std::int64_t>> backwards;
        for (std::int64_t t = 0; t < updates; ++t) {
          for (const std::int64_t group : {0, 1}) {
            for (std::int64_t j = 0; j < m; ++j) {
              forwards.emplace_back(group * p + d, t * m + j);
              backwards.emplace_back((1 - group) * p + d, t * m + j);
            }
          }
        }
        Unrolled list;
        std::size_t f = 0;
        for (std::size_t b = 0; b < backwards.size(); ++b) {
          while (f < std::min(b + static_cast<std::size_t>(m + p - d), forwards.size())) {
            list.add(forwards[f].first, "F", forwards[f].second);
            ++f;
          }
          const auto& [stage, microbatch] = backwards[b];
          list.add(stage, "B", microbatch);
          if ((microbatch + 1) % m == 0) list.add(stage, "U", microbatch / m);
        }
        CHECK(list_text(schedule, d) == list.text());
      }
    }
  });
}

TEST_CASE(
    "group 0 of wpipe reads weights one update old and keeps two versions, group 1 the current one and keeps one") {
  for_each_wpipe([](std::int64_t p, std::int64_t m) {
    const Schedule schedule = grouped(static_cast<std::int32_t>(p), m, 5);
    const VersionsRead reads = versions_read(schedule);
    for (const auto& [key, version] : reads.forward) {
      const std::int64_t delay = key.second < p ? 1 : 0;
      CHECK(version == std::max<std::int64_t>(key.first / m - delay, 0));
      CHECK(reads.backward.at(key) == version);
    }
    const std::vector<std::int64_t> versions = most_versions(schedule);
    for (std::size_t stage = 0; stage < versions.size(); ++stage) {
      CHECK(versions[stage] == (static_cast<std::int64_t>(stage) < p ? 2 : 1));
    }
  });
}

TEST_CASE("once full, wpipe leaves no idle time for equal stages when m >= p") {
  for (const std::int64_t p : {1, 2, 3, 4, 8}) {
    for (const std::int64_t m : {p, p + 1, 2 * p, 3 * p + 1}) {
      CAPTURE(p);
      CAPTURE(m);
      const auto makespan = [&](std::int64_t updates) {
        return replay(grouped(static_cast<std::int32_t>(p), m, updates), {.f = 1, .b = 2}).makespan;
      };
      CHECK(makespan(9) - makespan(8) == 2 * m * 3);
    }
  }
}

TEST_CASE("device d of wpipe keeps at most m + p - d activations") {
  for_each_wpipe([](std::int64_t p, std::int64_t m) {
    const std::vector<std::int64_t> stashes = peak_stashes(grouped(static_cast<std::int32_t>(p), m, 5));
    for (std::int64_t d = 0; d < p; ++d) CHECK(stashes[static_cast<std::size_t>(d)] == m + p - d);
  });
}

TEST_CASE("what wpipe cannot do is refused with the rule") {
  CHECK(error_message([] { grouped(4, 2, 3); }) == "wpipe: num_microbatches (2) must be at least num_devices - 1 (3)");
  CHECK(error_message([] { generate("wpipe", {.num_devices = 2, .num_microbatches = 2, .chunks = 3}); }) ==
        "wpipe: chunks per device (3) must be 2, one of each group");
}

TEST_CASE("the picture of wpipe is the one in tests/golden") {
  const std::string actual = picture(grouped(3, 3, 3), {.f = 1, .b = 1});
  CHECK(actual == golden("schedules/wpipe.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
