#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "schedules/catalogue/registry.hpp"
#include "schedules/document/schedule_io.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

ScheduleParams overlap_sizes(std::int64_t p, std::int64_t m, std::int64_t v, std::int64_t group) {
  return {.num_devices = static_cast<std::int32_t>(p),
          .num_microbatches = m,
          .chunks = static_cast<std::int32_t>(v),
          .options = {{"group", std::to_string(group)}}};
}

/// The list of device d: Megatron's table of units (groups of microbatches through all chunks), forwards and backwards
/// each in its order, one forward more in the warm-up, then pairs.
std::string plain_interleaved_overlap(std::int64_t p, std::int64_t d, std::int64_t m, std::int64_t v, std::int64_t g) {
  std::vector<std::pair<std::int64_t, std::int64_t>> table;
  for (std::int64_t first = 0; first < m; first += g) {
    for (std::int64_t chunk = 0; chunk < v; ++chunk) {
      for (std::int64_t k = first; k < std::min(first + g, m); ++k) table.emplace_back(k, chunk);
    }
  }
  const auto units = static_cast<std::int64_t>(table.size());
  const auto name = [&](const char* op, std::int64_t unit) {
    const auto [k, chunk] = table[static_cast<std::size_t>(unit)];
    return std::to_string((op[0] == 'F' ? chunk : v - 1 - chunk) * p + d) + op + std::to_string(k);
  };
  const std::int64_t warmup = std::min(2 * (p - d - 1) + (v - 1) * g + 1, units);
  std::string text;
  for (std::int64_t j = 0; j < warmup; ++j) text += " " + name("F", j);
  for (std::int64_t j = 0; j < units - warmup; ++j) {
    text += " (" + name("F", warmup + j) + ";" + name("B", j) + ")OVERLAP_F_B";
  }
  for (std::int64_t j = units - warmup; j < units; ++j) text += " " + name("B", j);
  for (std::int64_t chunk = 0; chunk < v; ++chunk) text += " " + std::to_string(chunk * p + d) + "U0";
  return text;
}

}  // namespace

TEST_CASE("interleaved-overlap has Megatron's table of units, one forward more in the warm-up, and then pairs") {
  int cases = 0;
  for (const std::int64_t p : {1, 2, 3, 4}) {
    for (const std::int64_t m : {1, 2, 4, 5, 8, 9, 24}) {
      for (const std::int64_t v : {1, 2, 4}) {
        for (std::int64_t group = std::min(p, m); group <= m; ++group) {
          if (m % group != 0 && m % group < p) continue;
          ++cases;
          CAPTURE(p);
          CAPTURE(m);
          CAPTURE(v);
          CAPTURE(group);
          const Schedule schedule = generate("interleaved-overlap", overlap_sizes(p, m, v, group));
          std::string expected;
          for (std::int64_t d = 0; d < p; ++d) {
            expected += "d" + std::to_string(d) + ":" + plain_interleaved_overlap(p, d, m, v, group) + "\n";
          }
          CHECK(lists_to_text(schedule) == expected);
          CHECK(replay(schedule, {}).finished);
        }
      }
    }
  }
  CHECK(cases > 150);
}

TEST_CASE("device d of interleaved-overlap keeps min(2 (p - d) + (v - 1) group, m v) activations of a chunk") {
  for (const std::int64_t p : {2, 4}) {
    for (const std::int64_t v : {1, 2, 3}) {
      for (const std::int64_t group : {p, p + 1}) {
        const std::int64_t m = 4 * group;
        const auto peaks = peak_stashes(generate("interleaved-overlap", overlap_sizes(p, m, v, group)));
        for (std::int64_t d = 0; d < p; ++d) {
          CHECK(peaks[static_cast<std::size_t>(d)] == std::min(2 * (p - d) + (v - 1) * group, m * v));
        }
      }
    }
  }
}

TEST_CASE("interleaved-overlap names the rule that a request breaks") {
  CHECK(error_message([] { generate("interleaved-overlap", overlap_sizes(4, 8, 2, 3)); }) ==
        "interleaved-overlap: group (3) must be at least num_devices (4)");
}

TEST_CASE("the picture of interleaved-overlap is the one in tests/golden") {
  const std::string actual = picture(generate("interleaved-overlap", {.num_devices = 2, .num_microbatches = 4}), {});
  CHECK(actual == golden("schedules/interleaved_overlap.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
