#include "schedules/slice_lengths.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

using Lengths = std::vector<std::int64_t>;

constexpr TransformerShape kSevenBillion{24, 4096, 16384, 32, 128, 32000};

double total(const SliceTime& time, const Lengths& lengths, const SliceSearch& search) {
  double sum = 0;
  double longest = 0;
  std::int64_t context = 0;
  for (const std::int64_t length : lengths) {
    sum += time(length, context);
    longest = std::max(longest, time(length, context));
    context += length;
  }
  return static_cast<double>(search.microbatches) * sum + static_cast<double>(search.devices - 1) * longest;
}

/// The least total over all ways to cut `rest` more tokens.
double best_of_all(const SliceTime& time, const SliceSearch& search, Lengths& lengths, std::int64_t rest) {
  if (rest == 0) return total(time, lengths, search);
  double best = std::numeric_limits<double>::infinity();
  for (std::int64_t length = search.step; length <= rest; length += search.step) {
    lengths.push_back(length);
    best = std::min(best, best_of_all(time, search, lengths, rest - length));
    lengths.pop_back();
  }
  return best;
}

}  // namespace

TEST_CASE("lengths of equal work are the published ones of Seq1F1B's partition") {
  CHECK(equal_work_lengths(kSevenBillion, 16384, 4, 2) == Lengths{4930, 4238, 3776, 3440});
  CHECK(equal_work_lengths(kSevenBillion, 32768, 4, 8) == Lengths{11064, 8408, 7072, 6224});
  CHECK(equal_work_lengths(kSevenBillion, 65536, 4, 8) == Lengths{25064, 16264, 13024, 11184});
  CHECK(equal_work_lengths(kSevenBillion, 32768, 2, 8) == Lengths{19464, 13304});
}

TEST_CASE("slices of equal work are within 0.3 % of their share, and together cost what the sequence does") {
  const double whole = slice_flops(kSevenBillion, 32768, 32768);
  double sum = 0;
  std::int64_t end = 0;
  for (const std::int64_t length : equal_work_lengths(kSevenBillion, 32768, 4, 8)) {
    end += length;
    const double flops = slice_flops(kSevenBillion, length, end);
    CHECK(std::abs(flops / (whole / 4) - 1) < 0.003);
    sum += flops;
  }
  CHECK(std::abs(sum / whole - 1) < 1e-12);
}

TEST_CASE("too many slices of equal work are refused") {
  CHECK(error_message([] { equal_work_lengths(kSevenBillion, 16, 4, 8); }) ==
        "4 slices of 16 tokens in multiples of 8: expected at least one token in each");
}

TEST_CASE("the searched lengths are as good as the best of all ways to cut") {
  const auto linear = [](std::int64_t n, std::int64_t context) {
    return 3.0 + static_cast<double>(n) + 0.25 * static_cast<double>(n * context);
  };
  const auto stepped = [](std::int64_t n, std::int64_t context) {
    return std::ceil(static_cast<double>(n) / 3) * 2 + static_cast<double>(context) / 4;
  };
  for (const SliceTime& time : {SliceTime(linear), SliceTime(stepped)}) {
    for (const std::int64_t devices : {1, 2, 4, 9}) {
      for (const std::int64_t microbatches : {1, 3}) {
        CAPTURE(devices);
        CAPTURE(microbatches);
        const SliceSearch search{.tokens = 12, .step = 1, .devices = devices, .microbatches = microbatches};
        Lengths none;
        CHECK(total(time, fastest_slice_lengths(time, search), search) == best_of_all(time, search, none, 12));
      }
    }
  }
}

TEST_CASE("one device wants one slice, many devices want many") {
  const auto time = [](std::int64_t n, std::int64_t) { return 1.0 + static_cast<double>(n); };
  CHECK(fastest_slice_lengths(time, {.tokens = 64, .step = 8, .devices = 1}) == Lengths{64});
  CHECK(fastest_slice_lengths(time, {.tokens = 64, .step = 8, .devices = 100}) == Lengths(8, 8));
}

}  // namespace plumb::testing

TEST_SUITE_END();
