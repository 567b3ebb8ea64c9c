#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace plumb {

// When does delayed gradient descent converge? The smallest problem that shows it: one weight w, loss lambda w^2 / 2.
// (Yang et al., PipeMare, arXiv 1910.05124, section 3; polynomials derived in full below.)

/// One weight under one method. With delta the average velocity of the weight, of decay gamma (T2, otherwise n = 0):
///
///   u_bkwd   = w[t - tau_bkwd] - n_b delta[t - tau_bkwd],       n_b = tau_fwd - tau_bkwd
///   u_recomp = w[t - tau_recomp] - n_r delta[t - tau_recomp],   n_r = tau_fwd - tau_recomp
///   g[t]     = (lambda + Delta) w[t - tau_fwd] - (Delta - Phi) u_bkwd - Phi u_recomp
///   w[t+1]   = w[t] + momentum (w[t] - w[t-1]) - alpha g[t]
///   delta[t+1] = gamma delta[t] + (1 - gamma) (w[t+1] - w[t])
struct DelayedQuadratic {
  double curvature = 1;              ///< lambda
  double sensitivity = 0;            ///< Delta: of the gradient to backward weights that are not the forward's
  double recompute_sensitivity = 0;  ///< Phi: to those of a forward that is run again
  std::int32_t tau_fwd = 0;          ///< updates; the others are at most this
  std::int32_t tau_bkwd = 0;
  std::int32_t tau_recomp = 0;
  double momentum = 0;
  std::optional<double> gamma = {};  ///< factor of T2; none: not corrected
};

/// Decay of T2's velocity for which the first two Taylor terms of the discrepancy vanish: max(0, 1 - 2 / (n + 1)),
/// n = tau_fwd - tau_bkwd.
double taylor_gamma(double n);

/// Decay that forgets to a share D within n updates: D^(1/n); 0 for n = 0.
double gamma_of(double discount, double n);

/// Coefficients, constant first, of the polynomial whose roots say how the recursion grows; the leading one is 1.
std::vector<double> characteristic_polynomial(const DelayedQuadratic& problem, double alpha);

/// Returns the largest magnitude of the roots: below 1 the recursion converges.
double spectral_radius(const DelayedQuadratic& problem, double alpha);

/// Returns the smallest rate at which the recursion does not converge any more, to 1e-10 relative; none when it
/// converges for all rates up to `most` (tried in steps of 10 %).
std::optional<double> largest_stable_rate(const DelayedQuadratic& problem, double most = 4);

/// Finds the rate by running the recursion: a rate is stable when `steps` of it do not grow. To 1e-4 relative or so,
/// because close to the limit growth takes long to show.
std::optional<double> largest_stable_rate_by_iterating(const DelayedQuadratic& problem, std::int64_t steps,
                                                       double most = 4);

/// w[1], ..., w[steps] from w = 1 and delta = 0 at all times up to 0; `rate` gives alpha by t. Ends early when a value
/// exceeds 1e150.
std::vector<double> iterate(const DelayedQuadratic& problem, const std::function<double(std::int64_t)>& rate,
                            std::int64_t steps);

}  // namespace plumb
