#include "tools/measured_steps/rates_fit.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb {
namespace {

/// Steps of made-up rows: work at a share of the peak, launches by the host.
std::vector<double> made_up_steps(const KernelRates& rates) {
  std::vector<double> steps;
  for (int k = 1; k <= 12; ++k) {
    const double launches = 1000.0 * (k % 4 + 1);
    steps.push_back(k / rates.gemm_efficiency + launches * static_cast<double>(rates.host_ns) * 1e-6);
  }
  return steps;
}

}  // namespace

TEST_CASE("a fit recovers the constants of a made-up truth, also past an outlier") {
  KernelRates truth;
  truth.gemm_efficiency = 0.62;
  truth.host_ns = 40'000;
  std::vector<double> measured = made_up_steps(truth);
  KernelRates start;
  start.gemm_efficiency = 0.9;
  start.host_ns = 5'000;
  const FitOptions options{.constants = {"gemm_efficiency", "host_ns"}, .outlier = 0.05};
  const KernelRates found = fitted_rates(made_up_steps, measured, start, options);
  CHECK(found.gemm_efficiency == doctest::Approx(0.62).epsilon(1e-3));
  CHECK(static_cast<double>(found.host_ns) == doctest::Approx(40'000).epsilon(1e-3));
  CHECK(found.kernel_ns == start.kernel_ns);
  measured[5] *= 3;
  const KernelRates robust = fitted_rates(made_up_steps, measured, start, options);
  CHECK(robust.gemm_efficiency == doctest::Approx(0.62).epsilon(0.03));
  CHECK_THROWS_AS(fit_constants({"magic"}), Error);
}

TEST_CASE("what no row identifies stays where it starts, and a constant at its limit is named") {
  KernelRates truth;
  truth.gemm_efficiency = 0.62;
  truth.host_ns = 40'000;
  const std::vector<double> measured = made_up_steps(truth);
  KernelRates start;
  start.gemm_efficiency = 0.8;
  start.host_ns = 20'000;
  start.attention_forward = 0.55;
  const FitOptions options{.constants = {"gemm_efficiency", "host_ns", "attention_forward"}, .pull = 1e-4};
  const KernelRates found = fitted_rates(made_up_steps, measured, start, options);
  CHECK(found.gemm_efficiency == doctest::Approx(0.62).epsilon(0.01));
  CHECK(found.attention_forward == doctest::Approx(0.55));
  KernelRates edge;
  edge.gemm_efficiency = 0.9;
  const std::vector<std::string_view> at_bounds = constants_at_bounds(edge);
  CHECK(std::ranges::find(at_bounds, "gemm_efficiency") != at_bounds.end());
  CHECK(std::ranges::find(at_bounds, "attention_forward") == at_bounds.end());
}

}  // namespace plumb

TEST_SUITE_END();
