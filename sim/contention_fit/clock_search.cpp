#include "sim/contention_fit/clock_search.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

#include <Eigen/Dense>

#include "sim/contention_fit/contention_solver.hpp"

namespace plumb {
namespace {

constexpr int kSearchIterations = 5;
constexpr double kLeastGain = 0.01;      // of the sum of errors, that a clock must explain
constexpr double kShortestLag = 0.25;    // of a usual action's time
constexpr double kLongestLag = 1;        // of the longest run
constexpr std::int64_t kMostLeast = 8;   // loads tried from which the clock falls
constexpr double kFinerThanTwo = 1.189;  // fourth root

/// A clock that was tried.
struct Tried {
  ClockShape shape;
  double fall = 0;
  std::vector<double> errors;  ///< by block

  double total() const { return std::accumulate(errors.begin(), errors.end(), 0.0); }
};

class ClockSearch {
 public:
  ClockSearch(ContentionData& data, const ContentionCurves& curves, const std::vector<std::size_t>& actions,
              std::span<const double> values, const ContentionFitOptions& options)
      : data_(data),
        with_(curves.points(), {curves.has(CommonUnknown::kMessage), curves.has(CommonUnknown::kCollective), true}),
        actions_(actions),
        start_(values.begin(), values.end()),
        options_(options),
        once_(data.block_begin.back(), 1) {
    const ContentionSolver solver(data, curves, actions);
    without_ = by_block(solver, solver.solve(start_, once_, kSearchIterations));
    start_.push_back(0);
  }

  ClockFound run() {
    for (const LoadStep& step : data_.steps) most_ = std::max<double>(most_, step.active);
    if (most_ < 2) return none("never more than one device at work");
    const std::vector<double> lags = lags_that_show();
    if (lags.empty()) {
      return none("its fall cannot be distinguished from slowdowns by everything at once, and is counted there");
    }
    Tried best = best_of(lags, 1);
    for (const double least : loads()) take_better(best, {least, most_, best.shape.lag_ns});
    for (double step = std::sqrt(2.0); step >= kFinerThanTwo; step = std::sqrt(step)) {
      const double middle = best.shape.lag_ns;
      for (const double lag : {middle / step, middle * step}) take_better(best, {best.shape.least, most_, lag});
    }
    for (const double least : loads()) take_better(best, {least, most_, best.shape.lag_ns});
    return judged(best, lags.back());
  }

 private:
  static ClockFound none(const std::string& why) {
    ClockFound found;
    found.unknown = "the clock: " + why;
    return found;
  }

  std::vector<double> by_block(const ContentionSolver& solver, const ContentionSolution& at) const {
    std::vector<double> sums(once_.size(), 0);
    const std::vector<double> errors = solver.errors(at);
    for (std::size_t a = 0; a < actions_.size(); ++a) sums[data_.actions[actions_[a]].block] += std::abs(errors[a]);
    return sums;
  }

  const Tried& tried(const ClockShape& shape) {
    for (const Tried& one : tried_) {
      if (one.shape == shape) return one;
    }
    data_.follow(shape);
    const ContentionSolver solver(data_, with_, actions_);
    const ContentionSolution solution = solver.solve(start_, once_, kSearchIterations);
    return tried_.emplace_back(Tried{shape, solution.values.back(), by_block(solver, solution)});
  }

  void take_better(Tried& best, const ClockShape& shape) {
    const Tried& one = tried(shape);
    if (one.total() < best.total()) best = one;
  }

  Tried best_of(const std::vector<double>& lags, double least) {
    Tried best = tried({least, most_, lags.front()});
    for (const double lag : lags) take_better(best, {least, most_, lag});
    return best;
  }

  /// 1, 2, ... below the most, at most so many.
  std::vector<double> loads() const {
    const auto count = std::min<std::int64_t>(kMostLeast, static_cast<std::int64_t>(most_) - 1);
    std::vector<double> loads;
    for (std::int64_t k = 0; k < count; ++k) {
      loads.push_back(1 + std::floor(static_cast<double>(k) * (most_ - 1) / static_cast<double>(count)));
    }
    return loads;
  }

  std::vector<double> lags_that_show() {
    std::vector<double> usual;
    for (const std::size_t a : actions_) usual.push_back(data_.groups[data_.actions[a].group].time.median_ns);
    double longest = 0;
    for (std::size_t t = 0; t + 1 < data_.step_begin.size(); ++t) {
      double ns = 0;
      for (std::size_t s = data_.step_begin[t]; s != data_.step_begin[t + 1]; ++s) ns += data_.steps[s].ns;
      longest = std::max(longest, ns);
    }
    std::vector<double> lags;
    for (double lag = kShortestLag * median_of(std::move(usual)); lag <= kLongestLag * longest; lag *= 2) {
      data_.follow({1, most_, lag});
      if (independent_share() >= options_.independent) lags.push_back(lag);
    }
    return lags;
  }

  /// The part of what the actions meet of the clock that what they meet of the other unknowns does not explain.
  double independent_share() const {
    const auto size = static_cast<Eigen::Index>(with_.size());
    Eigen::MatrixXd gram = Eigen::MatrixXd::Zero(size, size);
    for (const std::size_t a : actions_) {
      const std::vector<double> met = data_.exposure(with_, data_.actions[a]);
      const Eigen::Map<const Eigen::VectorXd> row(met.data(), size);
      gram.selfadjointView<Eigen::Lower>().rankUpdate(row);
    }
    gram = gram.selfadjointView<Eigen::Lower>();
    const Eigen::Index others = size - 1;
    const double whole = gram(others, others);
    if (whole == 0) return 0;
    Eigen::MatrixXd system = gram.topLeftCorner(others, others);
    system.diagonal().array() *= 1 + 1e-9;
    const Eigen::VectorXd cross = gram.col(others).head(others);
    const double explained = others == 0 ? 0 : cross.dot(system.ldlt().solve(cross));
    return std::sqrt(std::max(0.0, 1 - explained / whole));
  }

  ClockFound judged(const Tried& best, double longest_lag) {
    std::mt19937_64 random(options_.seed);
    std::vector<double> gains;
    std::vector<double> lags;
    std::vector<double> falls;
    for (std::int64_t k = 0; k < std::max<std::int64_t>(1, options_.resamples); ++k) {
      const std::vector<double> weight = options_.resamples == 0 ? once_ : data_.drawn_blocks(random);
      const auto total = [&](const std::vector<double>& errors) {
        return std::inner_product(errors.begin(), errors.end(), weight.begin(), 0.0);
      };
      const Tried* here = &best;
      for (const Tried& one : tried_) {
        if (one.shape.least == best.shape.least && total(one.errors) < total(here->errors)) here = &one;
      }
      gains.push_back(1 - total(best.errors) / std::max(total(without_), 1e-12));
      lags.push_back(here->shape.lag_ns);
      falls.push_back(here->fall);
    }
    const Estimate lag = with_interval(best.shape.lag_ns, std::move(lags));
    const bool clear = with_interval(0, std::move(gains)).low >= kLeastGain;
    if (clear && lag.high >= longest_lag)
      return none("it follows the load as slowly as the runs are long, or more slowly");
    ClockFound found;
    found.clear = clear;
    found.lag_ns = lag;
    found.fall = with_interval(best.fall, std::move(falls));
    found.shape = found.clear ? best.shape : std::ranges::max_element(tried_, {}, &Tried::fall)->shape;
    data_.follow(*found.shape);
    return found;
  }

  ContentionData& data_;
  ContentionCurves with_;
  const std::vector<std::size_t>& actions_;
  std::vector<double> start_;  ///< values, with that of the clock
  const ContentionFitOptions& options_;
  std::vector<double> once_;
  std::vector<double> without_;  ///< errors by block
  double most_ = 0;
  std::vector<Tried> tried_;
};

}  // namespace

ClockFound search_clock(ContentionData& data, const ContentionCurves& curves, const std::vector<std::size_t>& actions,
                        std::span<const double> values, const ContentionFitOptions& options) {
  return ClockSearch(data, curves, actions, values, options).run();
}

}  // namespace plumb
