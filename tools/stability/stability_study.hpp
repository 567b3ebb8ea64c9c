#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/stability/stability.hpp"
#include "tools/reports/plot_page.hpp"

namespace plumb {

/// What all methods of a study share.
struct StabilityOptions {
  double curvature = 1;
  double sensitivity = 5;
  double recompute_sensitivity = 1;
  double momentum = 0.9;
  std::optional<double> discount = {};          ///< T2's D; none: the Taylor gamma
  std::int32_t tau_bkwd = 0;                    ///< at most tau
  std::optional<std::int32_t> tau_recomp = {};  ///< at most tau; none: half of tau
  double most = 4;                              ///< largest rate tried
};

/// One method: the problem that it makes of a delay, and by how much it lowers the rate.
struct StabilityMethod {
  std::string name;  ///< words joined by '+'
  bool momentum = false;
  bool discrepancy = false;
  bool t1 = false;
  bool t2 = false;
  bool recompute = false;

  DelayedQuadratic problem(const StabilityOptions& options, std::int32_t tau) const;
  /// T1 at its beginning divides the rate by tau, so the base rate may be as much larger.
  double rate_factor(std::int32_t tau) const;
};

/// "delay", or words of delay, momentum, naive, t1, t2, recompute joined by '+'. The gradient depends on the mismatch
/// of forward and backward weights where naive, t2 or recompute is said. Throws `Error` for other words.
StabilityMethod parse_stability_method(const std::string& name);

/// Largest stable base rate of a method by delay; none where all rates up to `most` are stable.
struct StabilityCurve {
  StabilityMethod method;
  std::vector<std::optional<double>> by_roots;
  std::vector<std::optional<double>> by_iterating;  ///< empty when not asked for
  std::vector<double> radius;                       ///< at a given rate; empty when not asked for
};

struct StabilityStudy {
  StabilityOptions options;
  std::vector<std::int32_t> taus;
  std::optional<double> rate;  ///< of `StabilityCurve::radius`
  std::vector<StabilityCurve> curves;
};

/// Computes all curves, in parallel. `iterations` of the recursion per rate; 0: not by iterating.
StabilityStudy study_stability(const StabilityOptions& options, const std::vector<StabilityMethod>& methods,
                               const std::vector<std::int32_t>& taus, std::optional<double> rate,
                               std::int64_t iterations);

std::string stability_text(const StabilityStudy& study);
std::string stability_json(const StabilityStudy& study);
std::string stability_csv(const StabilityStudy& study);
/// Stable rates lie below the lines.
Plot stability_plot(const StabilityStudy& study);
PlotPage stability_page(const StabilityStudy& study);

}  // namespace plumb
