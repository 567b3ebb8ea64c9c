#include "sim/stability/stability.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>

namespace plumb {
namespace {

constexpr double kScanStep = 1.1;
constexpr double kScanFrom = 1e-6;
constexpr double kOverflow = 1e150;
constexpr double kUnderflow = 1e-150;

/// Adds factor (z - a)(z - b)... z^shift to `sum`, for the `roots` a, b, ...
void add_product(std::vector<double>& sum, double factor, std::initializer_list<double> roots, std::int32_t shift) {
  std::vector<double> product{factor};
  for (const double root : roots) {
    product.push_back(0);
    for (std::size_t i = product.size() - 1; i > 0; --i) product[i] = product[i - 1] - root * product[i];
    product[0] *= -root;
  }
  for (std::size_t i = 0; i < product.size(); ++i) sum[i + static_cast<std::size_t>(shift)] += product[i];
}

/// Adds `factor` times what is read at `delay`: w, or with T2 w - n delta, as sum of powers of z times (z - gamma).
void add_read(std::vector<double>& sum, const DelayedQuadratic& problem, double factor, std::int32_t delay,
              std::int32_t shift) {
  if (!problem.gamma) {
    add_product(sum, factor, {}, shift - delay);
    return;
  }
  const double gamma = *problem.gamma;
  const double n = problem.tau_fwd - delay;
  add_product(sum, factor, {gamma}, shift - delay);
  add_product(sum, -factor * n * (1 - gamma), {1.0}, shift - delay);
}

/// Finds the first rate at which `stable` no longer holds: a scan by steps of a tenth, then bisection.
template <class Stable>
std::optional<double> first_unstable(const Stable& stable, double most, double precision) {
  double low = 0;
  double high = kScanFrom;
  while (stable(high)) {
    if (high >= most) return std::nullopt;
    low = high;
    high = std::min(high * kScanStep, most);
  }
  while (high - low > precision * high) {
    const double middle = (low + high) / 2;
    (stable(middle) ? low : high) = middle;
  }
  return (low + high) / 2;
}

double largest(const std::vector<double>& values, std::size_t begin, std::size_t end) {
  double most = 0;
  for (std::size_t i = begin; i < end; ++i) most = std::max(most, std::abs(values[i]));
  return most;
}

}  // namespace

double taylor_gamma(double n) { return std::max(0.0, 1 - 2 / (n + 1)); }

double gamma_of(double discount, double n) { return n <= 0 ? 0 : std::pow(discount, 1 / n); }

/// Writes the recursion as a polynomial in z, shifted so that no power is negative. T2 multiplies all by (z - gamma).
std::vector<double> characteristic_polynomial(const DelayedQuadratic& problem, double alpha) {
  assert(problem.tau_bkwd <= problem.tau_fwd && problem.tau_recomp <= problem.tau_fwd);
  const bool corrected = problem.gamma.has_value();
  const std::int32_t shift = std::max(problem.tau_fwd, problem.momentum != 0 ? 1 : 0);
  std::vector<double> sum(static_cast<std::size_t>(shift) + (corrected ? 3 : 2), 0);
  const double gamma = problem.gamma.value_or(0);
  const double beta = problem.momentum;
  if (corrected && beta != 0) add_product(sum, 1, {1.0, beta, gamma}, shift - 1);
  if (corrected && beta == 0) add_product(sum, 1, {1.0, gamma}, shift);
  if (!corrected && beta != 0) add_product(sum, 1, {1.0, beta}, shift - 1);
  if (!corrected && beta == 0) add_product(sum, 1, {1.0}, shift);
  const double delta = problem.sensitivity;
  const double phi = problem.recompute_sensitivity;
  add_read(sum, problem, alpha * (problem.curvature + delta), problem.tau_fwd, shift);
  add_read(sum, problem, -alpha * (delta - phi), problem.tau_bkwd, shift);
  add_read(sum, problem, -alpha * phi, problem.tau_recomp, shift);
  return sum;
}

/// Returns the largest root of the polynomial, as the largest eigenvalue of its companion matrix.
double spectral_radius(const DelayedQuadratic& problem, double alpha) {
  const std::vector<double> polynomial = characteristic_polynomial(problem, alpha);
  const auto degree = static_cast<Eigen::Index>(polynomial.size()) - 1;
  Eigen::MatrixXd companion = Eigen::MatrixXd::Zero(degree, degree);
  for (Eigen::Index i = 0; i + 1 < degree; ++i) companion(i + 1, i) = 1;
  for (Eigen::Index i = 0; i < degree; ++i) companion(i, degree - 1) = -polynomial[static_cast<std::size_t>(i)];
  return companion.eigenvalues().cwiseAbs().maxCoeff();
}

std::optional<double> largest_stable_rate(const DelayedQuadratic& problem, double most) {
  return first_unstable([&](double alpha) { return spectral_radius(problem, alpha) < 1; }, most, 1e-10);
}

std::optional<double> largest_stable_rate_by_iterating(const DelayedQuadratic& problem, std::int64_t steps,
                                                       double most) {
  // Stable: the last quarter of the steps is no larger than the one before.
  const auto stable = [&](double alpha) {
    const std::vector<double> values = iterate(
        problem, [&](std::int64_t) { return alpha; }, steps);
    if (static_cast<std::int64_t>(values.size()) < steps) return false;
    const std::size_t quarter = values.size() / 4;
    const double before = largest(values, 2 * quarter, 3 * quarter);
    return before < kUnderflow || largest(values, 3 * quarter, values.size()) <= before;
  };
  return first_unstable(stable, most, 1e-5);
}

/// Plays the recursion, with delta the decaying mean of its steps (T2), until it overflows.
std::vector<double> iterate(const DelayedQuadratic& problem, const std::function<double(std::int64_t)>& rate,
                            std::int64_t steps) {
  const auto history = static_cast<std::size_t>(problem.tau_fwd) + 2;  // values up to t = 0
  std::vector<double> w(history, 1);
  std::vector<double> delta(history, 0);
  for (std::int64_t t = 0; t < steps; ++t) {
    const std::size_t now = w.size() - 1;
    const auto read = [&](std::int32_t delay) {
      const std::size_t at = now - static_cast<std::size_t>(delay);
      return problem.gamma ? w[at] - (problem.tau_fwd - delay) * delta[at] : w[at];
    };
    const double phi = problem.recompute_sensitivity;
    const double gradient =
        (problem.curvature + problem.sensitivity) * w[now - static_cast<std::size_t>(problem.tau_fwd)] -
        (problem.sensitivity - phi) * read(problem.tau_bkwd) - phi * read(problem.tau_recomp);
    const double next = w[now] + problem.momentum * (w[now] - w[now - 1]) - rate(t) * gradient;
    if (!(std::abs(next) < kOverflow)) break;
    const double gamma = problem.gamma.value_or(0);
    delta.push_back(gamma * delta[now] + (1 - gamma) * (next - w[now]));
    w.push_back(next);
  }
  return {w.begin() + static_cast<std::ptrdiff_t>(history), w.end()};
}

}  // namespace plumb
