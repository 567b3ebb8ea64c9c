#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace plumb {

/// Predicted against measured, over some rows. Errors are (predicted - measured) / measured.
struct StepScore {
  std::size_t rows = 0;
  double mape = 0;              ///< mean of the errors' size
  double bias = 0;              ///< mean of the errors
  double median = 0;            ///< median of the errors' size
  double rank_correlation = 0;  ///< Spearman's, ties sharing their ranks; NaN for fewer than 3 rows
  std::size_t worst = 0;        ///< index of the largest error
};

/// `predicted` and `measured` are of equal length.
StepScore step_score(const std::vector<double>& predicted, const std::vector<double>& measured);

/// Spearman's rank correlation; NaN for fewer than 3 values, and where all of one side are equal.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace plumb
