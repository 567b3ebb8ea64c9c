#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "schedules/catalogue/registry.hpp"
#include "schedules/document/schedule_io.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

/// The list of device d as plain loops.
std::string plain_overlap(std::int64_t p, std::int64_t d, std::int64_t m) {
  const auto name = [d](const char* op, std::int64_t number) {
    return std::to_string(d) + op + std::to_string(number);
  };
  const std::int64_t warmup = std::min(2 * (p - d - 1) + 1, m);
  std::string text;
  for (std::int64_t k = 0; k < warmup; ++k) text += " " + name("F", k);
  for (std::int64_t k = 0; k < m - warmup; ++k) {
    text += " (" + name("F", warmup + k) + ";" + name("B", k) + ")OVERLAP_F_B";
  }
  for (std::int64_t k = m - warmup; k < m; ++k) text += " " + name("B", k);
  return text + " " + name("U", 0);
}

}  // namespace

TEST_CASE("1f1b-overlap is the released order on every device, whatever p and m") {
  for (const std::int32_t p : {1, 2, 3, 4, 8}) {
    for (const std::int64_t m : {1, 2, 3, 5, 8, 17, 32}) {
      CAPTURE(p);
      CAPTURE(m);
      std::string expected;
      for (std::int32_t d = 0; d < p; ++d) expected += "d" + std::to_string(d) + ":" + plain_overlap(p, d, m) + "\n";
      CHECK(lists_to_text(generate("1f1b-overlap", {.num_devices = p, .num_microbatches = m})) == expected);
    }
  }
}

TEST_CASE("device i of 1f1b-overlap keeps min(m, 2 (p - i)) activations") {
  for (const std::int32_t p : {1, 2, 4, 8}) {
    for (const std::int64_t m : {1, 3, 8, 32}) {
      CAPTURE(p);
      CAPTURE(m);
      std::vector<std::int64_t> expected;
      for (std::int64_t i = 0; i < p; ++i) expected.push_back(std::min<std::int64_t>(m, 2 * (p - i)));
      CHECK(peak_stashes(generate("1f1b-overlap", {.num_devices = p, .num_microbatches = m})) == expected);
    }
  }
}

TEST_CASE("where a pair hides nothing 1f1b-overlap takes as long as 1f1b, and m more than its warm-up does not wait") {
  for (const std::int32_t p : {1, 2, 4}) {
    for (const std::int64_t m : {1, 4, 12}) {
      CHECK(replay(generate("1f1b-overlap", {.num_devices = p, .num_microbatches = m}), {}).makespan ==
            3 * (m + p - 1));
    }
  }
}

TEST_CASE("1f1b-overlap has one chunk per device") {
  CHECK(error_message([] { generate("1f1b-overlap", {.num_devices = 2, .num_microbatches = 4, .chunks = 2}); }) ==
        error_message([] {
          generate("1f1b", {.num_devices = 2, .num_microbatches = 4, .chunks = 2});
        }).replace(0, 4, "1f1b-overlap"));
}

TEST_CASE("the picture of 1f1b-overlap is the one in tests/golden") {
  const std::string actual = picture(generate("1f1b-overlap", {.num_devices = 3, .num_microbatches = 7}), {});
  CHECK(actual == golden("schedules/1f1b_overlap.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
