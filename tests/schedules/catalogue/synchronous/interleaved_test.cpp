#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

ScheduleParams sizes(std::int64_t p, std::int64_t m, std::int64_t v, std::int64_t group) {
  return {.num_devices = static_cast<std::int32_t>(p),
          .num_microbatches = m,
          .chunks = static_cast<std::int32_t>(v),
          .options = {{"group", std::to_string(group)}}};
}

/// Megatron's table of units: groups of microbatches through all chunks.
std::vector<std::pair<std::int64_t, std::int64_t>> unit_table(std::int64_t m, std::int64_t v, std::int64_t group) {
  std::vector<std::pair<std::int64_t, std::int64_t>> table;
  for (std::int64_t first = 0; first < m; first += group) {
    for (std::int64_t chunk = 0; chunk < v; ++chunk) {
      for (std::int64_t k = first; k < std::min(first + group, m); ++k) table.emplace_back(k, chunk);
    }
  }
  return table;
}

bool allowed(std::int64_t p, std::int64_t m, std::int64_t group) {
  return group <= m && group >= std::min(p, m) && (m % group == 0 || m % group >= p);
}

}  // namespace

TEST_CASE("interleaved lists are Megatron's, for every group the rule allows") {
  int cases = 0;
  for (const std::int64_t p : {1, 2, 3, 4}) {
    for (const std::int64_t m : {1, 2, 4, 5, 8, 9, 10, 23, 24}) {
      for (const std::int64_t v : {1, 2, 4}) {
        for (std::int64_t group = std::min(p, m); group <= m; ++group) {
          if (!allowed(p, m, group)) continue;
          ++cases;
          CAPTURE(p);
          CAPTURE(m);
          CAPTURE(v);
          CAPTURE(group);
          const Schedule schedule = generate("interleaved", sizes(p, m, v, group));
          const auto table = unit_table(m, v, group);
          const auto units = static_cast<std::int64_t>(table.size());
          for (std::int64_t d = 0; d < p; ++d) {
            Unrolled list;
            const auto add = [&](const char* op, std::int64_t unit) {
              const auto [k, chunk] = table[static_cast<std::size_t>(unit)];
              list.add((op[0] == 'F' ? chunk : v - 1 - chunk) * p + d, op, k);
            };
            const std::int64_t warmup = std::min(2 * (p - d - 1) + (v - 1) * group, units);
            for (std::int64_t j = 0; j < warmup; ++j) add("F", j);
            for (std::int64_t j = 0; j < units - warmup; ++j) {
              add("F", warmup + j);
              add("B", j);
            }
            for (std::int64_t j = units - warmup; j < units; ++j) add("B", j);
            for (std::int64_t chunk = 0; chunk < v; ++chunk) list.add(chunk * p + d, "U", 0);
            CHECK(list_text(schedule, d) == list.text());
          }
        }
      }
    }
  }
  CHECK(cases > 300);
}

TEST_CASE("interleaved takes m(F + B) + (p - 1)(F + B)/v where m is a multiple of the group") {
  for (const std::int64_t p : {2, 3, 4}) {
    for (const std::int64_t v : {1, 2, 4}) {
      for (const std::int64_t groups : {1, 2, 4}) {
        CAPTURE(p);
        CAPTURE(v);
        CAPTURE(groups);
        const std::int64_t m = groups * (p + 1);
        const Schedule schedule = generate("interleaved", sizes(p, m, v, p + 1));
        CHECK(replay(schedule, {.f = 1, .b = 2}).makespan == 3 * (m * v + p - 1));
        const auto peaks = peak_stashes(schedule);
        for (std::int64_t d = 0; d < p; ++d) {
          const std::int64_t warmup = std::min(2 * (p - d - 1) + (v - 1) * (p + 1), m * v);
          CHECK(peaks[static_cast<std::size_t>(d)] == std::min(warmup + 1, m * v));
        }
      }
    }
  }
}

TEST_CASE("a last group that is long enough costs no bubble") {
  CHECK(replay(generate("interleaved", sizes(4, 9, 2, 5)), {}).makespan == 2 * 9 * 3 + 9);
  CHECK(replay(generate("interleaved", sizes(4, 10, 2, 5)), {}).makespan == 2 * 10 * 3 + 9);
}

TEST_CASE("with ahead=N interleaved warms up by N forwards more, at the cost of as many activations and no time") {
  for (const std::int64_t ahead : {1, 3, 1000}) {
    CAPTURE(ahead);
    ScheduleParams params = sizes(4, 16, 2, 4);
    const auto before = peak_stashes(generate("interleaved", params));
    params.options["ahead"] = std::to_string(ahead);
    const Schedule schedule = generate("interleaved", params);
    CHECK(replay(schedule, {.f = 1, .b = 2}).makespan == 3 * (16 * 2 + 3));
    const auto peaks = peak_stashes(schedule);
    for (std::size_t d = 0; d < 4; ++d) CHECK(peaks[d] == std::min<std::int64_t>(before[d] + ahead, 32));
  }
}

TEST_CASE("interleaved with fewer microbatches than devices has the known makespans") {
  for (const auto& [m, twice] : {std::pair{1, 24}, std::pair{2, 27}, std::pair{3, 30}}) {
    const Schedule schedule = generate("interleaved", {.num_devices = 4, .num_microbatches = m});
    CHECK(replay(schedule, {.f = 1, .b = 2}).makespan == twice);
  }
}

TEST_CASE("interleaved names the rule that a request breaks") {
  const auto message = [](std::int64_t p, std::int64_t m, std::int64_t group) {
    return error_message([&] { generate("interleaved", sizes(p, m, 2, group)); });
  };
  CHECK(message(4, 6, 4) ==
        "interleaved: num_microbatches (6) leaves a last group of 2; expected a multiple of the group (4) or a rest of "
        "at "
        "least num_devices (4); option group=N changes the group");
  CHECK(message(4, 8, 9) == "interleaved: group (9) must be at most num_microbatches (8)");
  CHECK(message(4, 8, 3) == "interleaved: group (3) must be at least num_devices (4)");
  CHECK(message(4, 6, 6).empty());
}

TEST_CASE("the picture of interleaved is the one in tests/golden") {
  const std::string actual =
      picture(generate("interleaved", {.num_devices = 2, .num_microbatches = 4, .chunks = 2}), {});
  CHECK(actual == golden("schedules/interleaved.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
