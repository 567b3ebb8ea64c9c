#include <doctest/doctest.h>

#include <algorithm>
#include <tuple>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule bitpipe(std::int64_t p, std::int64_t m) {
  return generate("bitpipe", {.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m});
}

}  // namespace

TEST_CASE("bitpipe takes 3m + (p - 2) + (m/p - 1)(p - 2)/2 for B = 2F") {
  for (const std::int64_t p : {2, 4, 6, 8, 16}) {
    for (const std::int64_t rounds : {1, 2, 4}) {
      CAPTURE(p);
      CAPTURE(rounds);
      const std::int64_t m = rounds * p;
      CHECK(replay(bitpipe(p, m), {.f = 1, .b = 2}).makespan == 6 * m + (rounds + 1) * (p - 2));
    }
  }
}

TEST_CASE("bitpipe has the known makespans for B = F") {
  for (const auto& [p, m, makespan] :
       {std::tuple{4, 4, 9}, {4, 8, 17}, {4, 16, 33}, {8, 8, 19}, {8, 16, 35}, {8, 32, 67}}) {
    CAPTURE(p);
    CAPTURE(m);
    CHECK(replay(bitpipe(p, m), {.f = 1, .b = 1}).makespan == 2 * makespan);
  }
}

TEST_CASE("devices of bitpipe keep between 3p/4 + 1/2 and p activations, two chunks each") {
  for (const std::int64_t p : {4, 8, 16}) {
    CAPTURE(p);
    const auto peaks = peak_stashes(bitpipe(p, 2 * p));
    CHECK(2 * *std::min_element(peaks.begin(), peaks.end()) == 3 * p + 2);
    CHECK(*std::max_element(peaks.begin(), peaks.end()) == 2 * p);
  }
}

TEST_CASE("an update of bitpipe repeats with the microbatches moved") {
  const Schedule two = generate("bitpipe", {.num_devices = 4, .num_microbatches = 8, .updates = 2});
  for (std::size_t d = 0; d < 4; ++d) {
    const auto one = expand(bitpipe(4, 8).devices[d]);
    auto all = expand(two.devices[d]);
    REQUIRE(all.size() == 2 * one.size());
    for (std::size_t i = 0; i < one.size(); ++i) {
      CHECK(all[i] == one[i]);
      CHECK(all[one.size() + i] == advanced(one[i], {.microbatch = 8, .update = 1}));
    }
  }
}

TEST_CASE("second chunks of bitpipe reduce after their last backward, first chunks at the end") {
  CHECK(list_text(bitpipe(2, 2), 0) ==
        "0F0 1:1F1 1:2F1 3F0 3B0 3REDUCE_GRAD 1:2B1 1:2REDUCE_GRAD 1:1B1 0B0 0REDUCE_GRAD 1:1REDUCE_GRAD 0U0 1:1U0 3U0 "
        "1:2U0");
}

TEST_CASE("bitpipe names the rule that a request breaks") {
  CHECK(error_message([] { bitpipe(3, 3); }) == "bitpipe: num_devices (3) must be even");
  CHECK(error_message([] { bitpipe(4, 6); }) == "bitpipe: num_microbatches (6) must be a multiple of num_devices (4)");
  CHECK(error_message([] { generate("bitpipe", {.num_devices = 4, .num_microbatches = 4, .chunks = 3}); }) ==
        "bitpipe: chunks per device (3) must be 2 in each direction");
}

TEST_CASE("the picture of bitpipe is the one in tests/golden") {
  const std::string actual = picture(generate("bitpipe", {.num_devices = 4, .num_microbatches = 4}), {});
  CHECK(actual == golden("schedules/bitpipe.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
