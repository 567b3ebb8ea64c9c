#include "sim/stability/stability.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

TEST_SUITE_BEGIN("trainer");

namespace plumb {
namespace {

/// As printed with six digits after the point.
bool prints_as(double value, double printed) { return std::abs(value - printed) <= 0.5000001e-6; }

DelayedQuadratic delayed(std::int32_t tau) { return {.tau_fwd = tau}; }

std::vector<double> constant_rate(const DelayedQuadratic& problem, double alpha, std::int64_t steps) {
  return iterate(
      problem, [alpha](std::int64_t) { return alpha; }, steps);
}

void check_values(const std::vector<double>& values, const std::vector<double>& printed) {
  REQUIRE(values.size() >= printed.size());
  for (std::size_t i = 0; i < printed.size(); ++i) {
    CAPTURE(i);
    CHECK(prints_as(values[i], printed[i]));
  }
}

/// tau_fwd = 3, tau_bkwd = 0, Delta = 1: the problem of the ten iterates.
DelayedQuadratic discrepancy(bool corrected) {
  DelayedQuadratic problem{.sensitivity = 1, .tau_fwd = 3};
  if (corrected) problem.gamma = 0.5;
  return problem;
}

/// 0.3, lowered to a third and back within 8 updates (T1).
double annealed(std::int64_t t) { return 0.3 / std::pow(3, 1 - std::min(static_cast<double>(t) / 8, 1.0)); }

}  // namespace

TEST_CASE("the largest stable rate of delayed descent is 2 sin(pi / (4 tau + 2)), as published") {
  const std::map<std::int32_t, double> published{{0, 2.000000},  {1, 1.000000},  {2, 0.618034}, {3, 0.445042},
                                                 {4, 0.347296},  {5, 0.284630},  {7, 0.209057}, {10, 0.149460},
                                                 {13, 0.116290}, {15, 0.101298}, {20, 0.076605}};
  for (const auto& [tau, rate] : published) {
    CAPTURE(tau);
    const std::optional<double> found = largest_stable_rate(delayed(tau));
    REQUIRE(found);
    CHECK(prints_as(*found, rate));
    CHECK(*found == doctest::Approx(2 * std::sin(std::numbers::pi / (4 * tau + 2))).epsilon(1e-8));
    DelayedQuadratic steeper = delayed(tau);
    steeper.curvature = 4;
    CHECK(*largest_stable_rate(steeper) == doctest::Approx(*found / 4).epsilon(1e-8));
  }
}

TEST_CASE("a steeper quadratic is stable up to a rate that is smaller by as much, over nine powers of ten") {
  for (const double curvature : {1e-3, 1e-1, 1e2, 1e4, 1e6}) {
    CAPTURE(curvature);
    for (const std::int32_t tau : {0, 3}) {
      DelayedQuadratic problem = delayed(tau);
      problem.curvature = curvature;
      const std::optional<double> found = largest_stable_rate(problem, 1e5);
      REQUIRE(found);
      CHECK(*found * curvature == doctest::Approx(2 * std::sin(std::numbers::pi / (4 * tau + 2))).epsilon(1e-8));
    }
  }
  CHECK_FALSE(largest_stable_rate(delayed(0), 1.99));
  CHECK(largest_stable_rate(delayed(0), 2.01));
}

TEST_CASE("running the recursion finds the same limits as the roots of its polynomial") {
  std::vector<DelayedQuadratic> problems{delayed(0), delayed(3), delayed(10), discrepancy(false), discrepancy(true)};
  problems.push_back({.tau_fwd = 5, .momentum = 0.9});
  problems.push_back({.sensitivity = 3, .recompute_sensitivity = 1, .tau_fwd = 8, .tau_recomp = 3});
  problems.push_back({.sensitivity = 3, .recompute_sensitivity = 1, .tau_fwd = 8, .tau_recomp = 3, .gamma = 0.7});
  problems.push_back({.sensitivity = 2, .tau_fwd = 6, .tau_bkwd = 2, .momentum = 0.5, .gamma = 0.6});
  for (const DelayedQuadratic& problem : problems) {
    CAPTURE(problem.tau_fwd);
    CAPTURE(problem.sensitivity);
    const std::optional<double> by_roots = largest_stable_rate(problem);
    const std::optional<double> by_iterating = largest_stable_rate_by_iterating(problem, 4000);
    REQUIRE(by_roots);
    REQUIRE(by_iterating);
    CHECK(*by_iterating == doctest::Approx(*by_roots).epsilon(2e-3));
  }
}

TEST_CASE("at rate 0.2 descent converges with a delay of 5 and diverges with 10") {
  CHECK(prints_as(spectral_radius(delayed(0), 0.2), 0.800000));
  CHECK(prints_as(spectral_radius(delayed(5), 0.2), 0.955521));
  CHECK(prints_as(spectral_radius(delayed(10), 0.2), 1.020086));
  check_values(constant_rate(delayed(5), 0.2, 10), {0.8, 0.6, 0.4, 0.2, 0.0, -0.2, -0.36, -0.48, -0.56, -0.60});
  check_values(constant_rate(delayed(10), 0.2, 10), {0.8, 0.6, 0.4, 0.2, 0.0, -0.2, -0.4, -0.6, -0.8, -1.0});
}

TEST_CASE("the critical root lies at exp(i pi / (2 tau + 1)), the non-oscillating limit at a double real root") {
  for (const std::int32_t tau : {1, 4, 9}) {
    CAPTURE(tau);
    CHECK(spectral_radius(delayed(tau), *largest_stable_rate(delayed(tau))) == doctest::Approx(1).epsilon(1e-9));
    const double root = static_cast<double>(tau) / (tau + 1);
    const double limit = std::pow(root, tau) / (tau + 1);
    CHECK(spectral_radius(delayed(tau), limit) == doctest::Approx(root).epsilon(1e-6));
  }
}

TEST_CASE("momentum 0.9 lowers the largest stable rates to the published ones") {
  const std::map<std::int32_t, double> published{{0, 3.800000}, {1, 0.100000}, {2, 0.051249}, {3, 0.034784},
                                                 {5, 0.021501}, {7, 0.015752}, {10, 0.011390}};
  for (const auto& [tau, rate] : published) {
    CAPTURE(tau);
    CHECK(prints_as(*largest_stable_rate({.tau_fwd = tau, .momentum = 0.9}), rate));
  }
}

TEST_CASE("largest stable rates with a discrepancy, naive and corrected by T2, are the published ones") {
  constexpr double kStable = -1;  // over the scanned range up to 0.6
  struct Published {
    std::int32_t tau_fwd;
    std::int32_t tau_bkwd;
    std::optional<double> gamma;
    std::vector<double> rates;  // for Delta = -1, 0, 1, 3, 5, 10
  };
  const std::vector<Published> rows{
      {10, 6, {}, {0.241073, 0.149460, 0.095699, 0.054598, 0.038067, 0.021632}},
      {10, 6, 0.6, {0.151019, 0.149460, 0.147955, 0.145098, 0.113944, 0.059673}},
      {3, 0, {}, {kStable, 0.445042, 0.188802, 0.088369, 0.057730, 0.030934}},
      {3, 0, 0.5, {0.500000, 0.445042, 0.406715, 0.311453, 0.201475, 0.107058}},
      {7, 0, {}, {kStable, 0.209057, 0.083974, 0.038525, 0.025017, 0.013336}},
      {7, 0, 0.75, {0.250000, 0.209057, 0.185021, 0.156448, 0.139035, 0.096171}},
  };
  const std::vector<double> sensitivities{-1, 0, 1, 3, 5, 10};
  for (const Published& row : rows) {
    CAPTURE(row.tau_fwd);
    CAPTURE(row.gamma.has_value());
    if (row.gamma) CHECK(taylor_gamma(row.tau_fwd - row.tau_bkwd) == doctest::Approx(*row.gamma));
    for (std::size_t i = 0; i < sensitivities.size(); ++i) {
      CAPTURE(sensitivities[i]);
      const std::optional<double> found = largest_stable_rate(
          {.sensitivity = sensitivities[i], .tau_fwd = row.tau_fwd, .tau_bkwd = row.tau_bkwd, .gamma = row.gamma}, 0.6);
      CHECK(found.has_value() == (row.rates[i] != kStable));
      if (found) CHECK(prints_as(*found, row.rates[i]));
    }
  }
}

TEST_CASE("spectral radii with tau 10 and 6 at rate 0.1 are the published ones") {
  const auto radius = [](double sensitivity, std::optional<double> gamma) {
    return spectral_radius({.sensitivity = sensitivity, .tau_fwd = 10, .tau_bkwd = 6, .gamma = gamma}, 0.1);
  };
  CHECK(prints_as(radius(0, {}), 0.973337));
  CHECK(prints_as(radius(3, {}), 1.037653));
  CHECK(prints_as(radius(3, 0.6), 0.975915));
  CHECK(prints_as(radius(5, {}), 1.060236));
  CHECK(prints_as(radius(5, 0.6), 0.985580));
}

TEST_CASE("ten iterates of the eight variants are the published ones") {
  const std::int64_t steps = 10;
  const auto of = [&](const DelayedQuadratic& problem, double alpha) { return constant_rate(problem, alpha, steps); };
  check_values(of(delayed(0), 0.3),
               {0.700000, 0.490000, 0.343000, 0.240100, 0.168070, 0.117649, 0.082354, 0.057648, 0.040354, 0.028248});
  check_values(of(delayed(3), 0.3), {0.700000, 0.400000, 0.100000, -0.200000, -0.410000, -0.530000, -0.560000,
                                     -0.500000, -0.377000, -0.218000});
  check_values(of(discrepancy(false), 0.3), {0.700000, 0.310000, -0.197000, -0.856100, -1.532930, -2.178809, -2.714252,
                                             -3.014867, -2.999569, -2.592155});
  check_values(of(discrepancy(false), 0.1),
               {0.900000, 0.790000, 0.669000, 0.535900, 0.409490, 0.292439, 0.187883, 0.099491, 0.027542, -0.028191});
  check_values(iterate(discrepancy(false), annealed, steps), {0.900000, 0.773808, 0.612432, 0.402936, 0.160958,
                                                              -0.114573, -0.419899, -0.740445, -1.059153, -1.308155});
  check_values(of(discrepancy(true), 0.3), {0.700000, 0.445000, 0.160750, -0.171988, -0.384333, -0.541452, -0.617044,
                                            -0.573301, -0.471544, -0.312353});
  check_values(of(discrepancy(true), 0.1),
               {0.900000, 0.805000, 0.707250, 0.603513, 0.512193, 0.430275, 0.358072, 0.297116, 0.245503, 0.202296});
  check_values(iterate(discrepancy(true), annealed, steps),
               {0.900000, 0.791016, 0.663290, 0.508402, 0.351850, 0.192594, 0.037416, -0.098567, -0.209147, -0.272637});
}

TEST_CASE(
    "spectral radii and hundredth iterates of the variants are the published ones: T2 alone saves the base rate") {
  CHECK(prints_as(spectral_radius(delayed(3), 0.3), 0.922777));
  CHECK(prints_as(spectral_radius(discrepancy(false), 0.3), 1.116736));
  CHECK(prints_as(spectral_radius(discrepancy(false), 0.1), 0.867766));
  CHECK(prints_as(spectral_radius(discrepancy(true), 0.3), 0.943525));
  CHECK(prints_as(spectral_radius(discrepancy(true), 0.1), 0.824010));
  const auto last = [](const std::vector<double>& values) { return std::abs(values.back()); };
  CHECK(last(constant_rate(discrepancy(false), 0.3, 100)) == doctest::Approx(1.819e4).epsilon(5e-4));
  CHECK(last(constant_rate(discrepancy(false), 0.1, 100)) == doctest::Approx(2.443e-7).epsilon(5e-4));
  CHECK(last(constant_rate(discrepancy(true), 0.3, 100)) == doctest::Approx(1.944e-3).epsilon(5e-4));
  CHECK(last(constant_rate(discrepancy(true), 0.1, 100)) == doctest::Approx(5.393e-9).epsilon(5e-4));
  CHECK(last(iterate(discrepancy(false), annealed, 100)) == doctest::Approx(1.828e4).epsilon(5e-4));
  CHECK(last(iterate(discrepancy(true), annealed, 100)) == doctest::Approx(1.351e-3).epsilon(5e-4));
}

TEST_CASE("polynomials have the published form") {
  const double alpha = 0.25;
  const DelayedQuadratic naive{.curvature = 2, .sensitivity = 3, .tau_fwd = 3, .tau_bkwd = 1};
  // z^3 (z - 1) + alpha (lambda + Delta) - alpha Delta z^2
  CHECK(characteristic_polynomial(naive, alpha) == std::vector<double>{alpha * 5, 0, -alpha * 3, -1, 1});
  DelayedQuadratic corrected = naive;
  corrected.gamma = 0.5;
  // (z - 1)(z - g) z^3 + a (l + D)(z - g) - a D z^2 (z - g) + a D n (1 - g) z^2 (z - 1), n = 2
  const std::vector<double> found = characteristic_polynomial(corrected, alpha);
  const std::vector<double> expected{
      -alpha * 5 * 0.5, alpha * 5, alpha * 3 * 0.5 - alpha * 3, 0.5 - alpha * 3 + alpha * 3, -1.5, 1};
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]));
  // z^(tau - 1) (z - 1)(z - beta) + alpha
  CHECK(characteristic_polynomial({.tau_fwd = 2, .momentum = 0.5}, alpha) == std::vector<double>{alpha, 0.5, -1.5, 1});
}

TEST_CASE("gammas of P = 4, N = 2 in slots are the published ones") {
  const std::vector<double> n{3.5, 2.5, 1.5, 0.5};
  const std::vector<double> taylor{0.555556, 0.428571, 0.200000, 0};
  const std::vector<double> by_discount{0.564718, 0.449329, 0.263597, 0.018316};
  for (std::size_t i = 0; i < n.size(); ++i) {
    CHECK(prints_as(taylor_gamma(n[i]), taylor[i]));
    CHECK(prints_as(gamma_of(std::exp(-2.0), n[i]), by_discount[i]));
  }
}

}  // namespace plumb

TEST_SUITE_END();
