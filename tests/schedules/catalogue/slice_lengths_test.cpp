#include "schedules/catalogue/slice_lengths.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
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

TEST_CASE("batches and slices together are as good as the best of all ways to cut both") {
  constexpr std::int64_t kTokens = 6;
  constexpr std::int64_t kSamples = 4;
  const BatchSliceTime time = [](std::int64_t samples, std::int64_t n, std::int64_t context) {
    return 5.0 + static_cast<double>(samples * n) + 0.25 * static_cast<double>(samples * n * context);
  };
  const auto total = [&](const std::vector<BatchSlice>& batches, std::int64_t devices) {
    double sum = 0;
    double longest = 0;
    for (const BatchSlice& batch : batches) {
      std::int64_t context = 0;
      for (const std::int64_t length : batch.lengths) {
        const double one = time(batch.samples, length, context);
        sum += one;
        longest = std::max(longest, one);
        context += length;
      }
    }
    return sum + static_cast<double>(devices - 1) * longest;
  };
  // All ways to cut n into lengths, as bits between its units.
  const auto cuts = [](std::int64_t n, std::uint32_t bits) {
    Lengths lengths{1};
    for (std::int64_t k = 1; k < n; ++k) {
      if ((bits >> static_cast<std::uint32_t>(k - 1) & 1U) != 0) {
        lengths.push_back(1);
      } else {
        ++lengths.back();
      }
    }
    return lengths;
  };
  for (const std::int64_t devices : {1, 2, 6, 40}) {
    CAPTURE(devices);
    const std::vector<BatchSlice> found =
        fastest_batch_slices(time, {.tokens = kTokens, .step = 1, .devices = devices, .microbatches = kSamples});
    double best = 1e9;
    for (std::uint32_t batch_bits = 0; batch_bits < 8; ++batch_bits) {
      const Lengths batches = cuts(kSamples, batch_bits);
      const bool alike = batches.size() == kSamples;  // all cut the same way is among the best
      std::uint64_t ways = 32;
      for (std::size_t k = 1; k < batches.size() && !alike; ++k) ways *= 32;
      for (std::uint64_t way = 0; way < ways; ++way) {
        std::vector<BatchSlice> all;
        std::uint64_t rest = way;
        for (const std::int64_t samples : batches) {
          all.push_back({samples, cuts(kTokens, static_cast<std::uint32_t>(rest % 32))});
          if (!alike) rest /= 32;
        }
        best = std::min(best, total(all, devices));
      }
    }
    CHECK(total(found, devices) == doctest::Approx(best));
    std::int64_t samples = 0;
    for (const BatchSlice& batch : found) samples += batch.samples;
    CHECK(samples == kSamples);
  }
}

TEST_CASE("terapipe takes samples together where slices cost something of their own") {
  const auto schedule_with = [](const char* overhead) {
    return generate("terapipe", {.num_devices = 4,
                                 .num_microbatches = 6,
                                 .options = {{"lengths", "joint"},
                                             {"tokens", "64"},
                                             {"multiple", "8"},
                                             {"model", "2x64x256x4x1000"},
                                             {"overhead", overhead}}});
  };
  const Schedule dear = schedule_with("100000");
  CHECK(validate(dear).empty());
  CHECK(int{expand(dear.devices[0]).front().merged} == 5);
  const Schedule cheap = schedule_with("1");
  CHECK(validate(cheap).empty());
  CHECK(expand(cheap.devices[0]).size() > expand(dear.devices[0]).size());
}

TEST_CASE("one device wants one slice, many devices want many") {
  const auto time = [](std::int64_t n, std::int64_t) { return 1.0 + static_cast<double>(n); };
  CHECK(fastest_slice_lengths(time, {.tokens = 64, .step = 8, .devices = 1}) == Lengths{64});
  CHECK(fastest_slice_lengths(time, {.tokens = 64, .step = 8, .devices = 100}) == Lengths(8, 8));
}

}  // namespace plumb::testing

TEST_SUITE_END();
