#include "tools/measured_steps/fit_quality.hpp"

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

TEST_SUITE_BEGIN("tools");

namespace plumb {
namespace {

/// Work at a share of the peak, and for some rows launches by the host; no collectives at all.
std::vector<double> quality_steps(const KernelRates& rates, const std::vector<std::size_t>& rows) {
  std::vector<double> steps;
  for (const std::size_t row : rows) {
    const double work = static_cast<double>(row + 1) / rates.gemm_efficiency;
    const double launches = row % 3 == 0 ? 100.0 * static_cast<double>(row + 1) : 0;
    steps.push_back(work + launches * static_cast<double>(rates.host_ns) * 1e-6);
  }
  return steps;
}

std::vector<std::size_t> first_rows(std::size_t count) {
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < count; ++row) rows.push_back(row);
  return rows;
}

const ConstantEstimate& estimate_of(const IdentifiedFit& fit, std::string_view name) {
  return *std::ranges::find_if(fit.constants, [&](const ConstantEstimate& one) { return one.constant.name == name; });
}

}  // namespace

TEST_CASE("constants that no row depends on are found out, and keep what they were") {
  KernelRates truth;
  truth.gemm_efficiency = 0.62;
  truth.host_ns = 40'000;
  const std::vector<std::size_t> rows = first_rows(12);
  const std::vector<double> measured = quality_steps(truth, rows);
  KernelRates start;
  start.gemm_efficiency = 0.9;
  start.host_ns = 5'000;
  start.collective_ns = 7'000;
  const FitOptions options{.constants = {"gemm_efficiency", "host_ns", "collective_ns"}};
  const Predict predict = [&](const KernelRates& rates) { return quality_steps(rates, rows); };
  const IdentifiedFit fit = identified_fit(predict, measured, start, options);
  CHECK(fit.rates.gemm_efficiency == doctest::Approx(0.62).epsilon(0.01));
  CHECK(static_cast<double>(fit.rates.host_ns) == doctest::Approx(40'000).epsilon(0.02));
  CHECK(fit.rates.collective_ns == 7'000);
  CHECK(estimate_of(fit, "gemm_efficiency").identified);
  CHECK(estimate_of(fit, "host_ns").identified);
  CHECK_FALSE(estimate_of(fit, "collective_ns").identified);
}

TEST_CASE("a physical limit stops a constant, and is told") {
  const std::vector<std::size_t> rows = first_rows(6);
  KernelRates truth;
  truth.gemm_efficiency = 0.35;  // below what products of a GPU reach
  truth.host_ns = 2'000;
  const std::vector<double> measured = quality_steps(truth, rows);
  const FitOptions options{.constants = {"gemm_efficiency"}};
  const Predict predict = [&](const KernelRates& rates) { return quality_steps(rates, rows); };
  KernelRates start = truth;
  start.gemm_efficiency = 0.6;
  const IdentifiedFit fit = identified_fit(predict, measured, start, options);
  const ConstantEstimate& estimate = estimate_of(fit, "gemm_efficiency");
  CHECK(estimate.at_bound);
  CHECK(estimate.value == doctest::Approx(estimate.constant.least));
}

TEST_CASE("rows that are left out are predicted by constants that they did not touch") {
  KernelRates truth;
  truth.gemm_efficiency = 0.62;
  truth.host_ns = 40'000;
  std::vector<double> measured = quality_steps(truth, first_rows(8));
  measured[7] *= 1.5;
  KernelRates start;
  start.gemm_efficiency = 0.8;
  start.host_ns = 20'000;
  const FitOptions options{.constants = {"gemm_efficiency", "host_ns"}};
  const std::vector<double> predicted = left_out_predictions(quality_steps, measured, start, options, 8);
  CHECK(predicted[7] / measured[7] == doctest::Approx(1 / 1.5).epsilon(0.02));  // not drawn to its own outlier
}

}  // namespace plumb

TEST_SUITE_END();
