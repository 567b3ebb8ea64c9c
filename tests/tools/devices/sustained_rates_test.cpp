#include "tools/devices/simumax_file.hpp"

#include <cmath>

#include <doctest/doctest.h>

TEST_SUITE_BEGIN("tools");

namespace plumb {
namespace {

/// A product of the forward that takes `seconds`, at `rate` FLOP/s.
TimedProduct product_of(double seconds, double rate) {
  constexpr std::int64_t kSide = 1024;
  const double one = 2.0 * kSide * kSide;
  return {.shape = {.m = kSide, .n = kSide, .k = static_cast<std::int64_t>(seconds * rate / one)}, .seconds = seconds};
}

/// One device was timed, and all wait for the slowest.
constexpr double kSlowest = 1.025;

TimedAttention attention_of(std::int64_t rows, double seconds, double rate) {
  return {.shape = {.rows = rows, .columns = rows, .heads = 8}, .flops = seconds * rate, .seconds = seconds};
}

KernelTimings timed(double short_rate) {
  KernelTimings timings;
  for (const double share : {0.95, 1.0, 1.05}) timings.products.push_back(product_of(2e-3, share * 1e15));
  timings.products.push_back(product_of(2e-4, short_rate));
  timings.products.push_back(product_of(2e-4, 0.5e15));
  for (const ProductPass pass : {ProductPass::kInputGrad, ProductPass::kWeightGrad}) {
    timings.products.push_back(product_of(2e-3, 1e15));
    timings.products.back().shape.pass = pass;
  }
  timings.attentions = {attention_of(4096, 1e-4, 0.6e15), attention_of(32768, 1e-3, 1e15),
                        attention_of(131072, 2e-2, 0.8e15)};
  return timings;
}

/// As above, with products of 0.5 to 8 s whose rates are those of half a second times T^-fall, `noise` apart.
KernelTimings warmed(double short_rate, double fall, double noise) {
  KernelTimings timings = timed(short_rate);
  double sign = 1;
  for (double seconds = 0.005; seconds < 0.09; seconds *= 2) {
    sign = -sign;
    timings.products.push_back(product_of(seconds, 1e15 * std::pow(seconds / 0.005, -fall) * (1 + sign * noise)));
  }
  return timings;
}

}  // namespace

TEST_CASE("products are as slow as after the longest timing where rates fall with how long was timed") {
  const double kept = std::pow(16.0, -0.02);
  KernelTimings timings = warmed(1.3e15, 0.02, 1e-4);
  const double half_a_second = timings.products[7].seconds;
  keep_sustained_rates(timings, {.products = 100, .attentions = 25});
  CHECK(timings.products[7].seconds == doctest::Approx(kSlowest * half_a_second / kept).epsilon(0.001));
  CHECK(timings.products[2].seconds == doctest::Approx(kSlowest * 2e-3 / kept).epsilon(0.001));
  CHECK(timings.products[3].seconds == doctest::Approx(kSlowest * 2e-4 * 1.3 / kept).epsilon(0.001));
  CHECK(timings.products[4].seconds == kSlowest * 2e-4);                                   // slow for other reasons
  CHECK(timings.products[11].seconds == doctest::Approx(kSlowest * 0.08).epsilon(0.001));  // timed for longest
}

TEST_CASE("rates that fall by no more than they scatter stay as they are") {
  KernelTimings timings = warmed(1.3e15, 0.005, 0.02);
  const double half_a_second = timings.products[7].seconds;
  keep_sustained_rates(timings, {.products = 100, .attentions = 25});
  CHECK(timings.products[7].seconds == kSlowest * half_a_second);
}

TEST_CASE("what was timed before the clock fell takes as long as when it has fallen") {
  KernelTimings timings = timed(1.3e15);
  keep_sustained_rates(timings, {.products = 100, .attentions = 25});
  CHECK(timings.products[3].seconds == doctest::Approx(kSlowest * 2e-4 * 1.3).epsilon(0.001));
  CHECK(timings.products[4].seconds == kSlowest * 2e-4);  // slow for other reasons
  CHECK(timings.products[2].seconds == kSlowest * 2e-3);
  CHECK(timings.attentions[0].seconds == doctest::Approx(kSlowest * 1e-4 / 0.8));
  CHECK(timings.attentions[1].seconds == doctest::Approx(kSlowest * 1e-3 / 0.8));
  CHECK(timings.attentions[2].seconds == kSlowest * 2e-2);
}

TEST_CASE("timings whose short products are no faster than the long ones stay as they are") {
  KernelTimings timings = timed(1.1e15);
  keep_sustained_rates(timings, {.products = 100, .attentions = 25});
  CHECK(timings.products[3].seconds == 2e-4);
  CHECK(timings.attentions[0].seconds == 1e-4);
}

}  // namespace plumb

TEST_SUITE_END();
