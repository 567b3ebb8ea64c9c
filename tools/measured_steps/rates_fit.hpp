#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "models/kernels/kernel_rates.hpp"

namespace plumb {

/// A constant of a device that measurements may move within bounds.
struct FitConstant {
  std::string_view name;
  double (*get)(const KernelRates&);
  void (*set)(KernelRates&, double);
  double least = 0;
  double most = 0;
};

/// Returns what is fitted of a type of device: shares of peaks and overheads, nothing per row or model.
const std::vector<FitConstant>& fit_constants();

/// Returns the constants of that name. Throws `Error` for unknown ones.
std::vector<FitConstant> fit_constants(const std::vector<std::string_view>& names);

/// Returns the names of the constants that stand at one of their physical limits.
std::vector<std::string_view> constants_at_bounds(const KernelRates& rates);

/// Steps of all rows for some rates, in seconds.
using Predict = std::function<std::vector<double>(const KernelRates&)>;

struct FitOptions {
  std::vector<std::string_view> constants{};  ///< names of those that move; empty: all
  std::vector<double> weights{};              ///< by row; empty: 1 each
  double pull = 0;                            ///< how much ln(constant / start) counts, as one row of this weight
  double outlier = 0.3;                       ///< relative errors above this count linearly (Huber)
  int rounds = 30;
};

/// Returns the rates for which `predict` is nearest to `measured` in the logarithm: Levenberg-Marquardt over the
/// logarithms of the constants, starting from `start`, robust against outliers. What no row identifies stays near where
/// it starts
/// (`pull`).
KernelRates fitted_rates(const Predict& predict, const std::vector<double>& measured, const KernelRates& start,
                         const FitOptions& options = {});

}  // namespace plumb
