#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "tools/measured_steps/rates_fit.hpp"

namespace plumb {

/// What rows say about one constant of a device.
struct ConstantEstimate {
  FitConstant constant;
  double value = 0;
  double factor = 1;        ///< one standard error: the value is likely within value / factor and value * factor
  bool identified = false;  ///< the rows narrow what the bounds alone allow to less than half
  bool at_bound = false;    ///< physical limits stop it, not the rows
};

/// Computes the standard error of every constant of `options` at `rates`: from the slopes of ln(predicted) there (by
/// finite differences) and the residuals, with the bounds as a prior (a normal distribution of the logarithm, whose two
/// standard deviations reach from the middle to a bound); so directions that no row tells apart keep the prior's width.
std::vector<ConstantEstimate> constant_estimates(const Predict& predict, const std::vector<double>& measured,
                                                 const KernelRates& rates, const FitOptions& options);

/// A fit whose constants are those that the rows identify; the others keep what `start` has.
struct IdentifiedFit {
  KernelRates rates;
  std::vector<ConstantEstimate> constants;  ///< all of `options`, those that were not fitted with `identified` false
};
IdentifiedFit identified_fit(const Predict& predict, const std::vector<double>& measured, const KernelRates& start,
                             const FitOptions& options);

/// Rows of a part of all rows, by index.
using PredictRows = std::function<std::vector<double>(const KernelRates&, const std::vector<std::size_t>& rows)>;

/// Predictions of every row by constants that were fitted to the other parts of the rows: `parts` of them (as many as
/// rows: leave one out), rows dealt out in turn.
std::vector<double> left_out_predictions(const PredictRows& predict, const std::vector<double>& measured,
                                         const KernelRates& start, const FitOptions& options, std::size_t parts);

}  // namespace plumb
