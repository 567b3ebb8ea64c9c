#include "tools/measured_steps/step_scores.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace plumb {
namespace {

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    const double shared = static_cast<double>(begin + end - 1) / 2;
    for (std::size_t k = begin; k < end; ++k) result[order[k]] = shared;
    begin = end;
  }
  return result;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  if (a.size() < 3) return kNone;
  const std::vector<double> x = ranks(a);
  const std::vector<double> y = ranks(b);
  const double mean_x = mean(x);
  const double mean_y = mean(y);
  double xy = 0;
  double xx = 0;
  double yy = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    xy += (x[k] - mean_x) * (y[k] - mean_y);
    xx += (x[k] - mean_x) * (x[k] - mean_x);
    yy += (y[k] - mean_y) * (y[k] - mean_y);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : kNone;
}

StepScore step_score(const std::vector<double>& predicted, const std::vector<double>& measured) {
  StepScore score{.rows = predicted.size()};
  if (predicted.empty()) return score;
  std::vector<double> errors(predicted.size());
  for (std::size_t k = 0; k < errors.size(); ++k) errors[k] = predicted[k] / measured[k] - 1;
  score.bias = mean(errors);
  for (double& error : errors) error = std::abs(error);
  score.worst = static_cast<std::size_t>(std::max_element(errors.begin(), errors.end()) - errors.begin());
  score.mape = mean(errors);
  const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
  std::nth_element(errors.begin(), middle, errors.end());
  score.median = *middle;
  score.rank_correlation = rank_correlation(predicted, measured);
  return score;
}

}  // namespace plumb
