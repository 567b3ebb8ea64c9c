#include "sim/contention_fit/fit_contention.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Dense>

#include "sim/contention_fit/contention_curves.hpp"
#include "sim/contention_fit/contention_data.hpp"
#include "sim/contention_fit/contention_fit.hpp"
#include "sim/contention_fit/contention_solver.hpp"

namespace plumb {
namespace {

/// The clock that best explains what curves and slowdowns by communication do not.
struct ClockFound {
  std::optional<ClockShape> shape;  ///< empty where the runs determine no clock
  bool clear = false;   ///< it explains more than chance would; otherwise this is the largest fall that the runs allow
  Estimate lag_ns;      ///< only where `clear`
  Estimate fall;        ///< with the lags of the interval
  std::string unknown;  ///< why there is none
};

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

  /// Returns the part of what the actions meet of the clock that what they meet of the other unknowns does not explain.
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

/// Tries loads from which the clock falls, and time constants from a fraction of an action to the longest run, but only
/// those that the other unknowns cannot explain. `curves` and `values` are the fit without a clock; `actions` are those
/// of `data` that count. Leaves `data` following the clock that is found.
ClockFound search_clock(ContentionData& data, const ContentionCurves& curves, const std::vector<std::size_t>& actions,
                        std::span<const double> values, const ContentionFitOptions& options) {
  return ClockSearch(data, curves, actions, values, options).run();
}

constexpr double kMostUnknown = 0.02;  // of an action's time, with others of which there is no curve
constexpr int kIterations = 25;
constexpr double kWidest = 0.5;  // of an interval that still says something
constexpr int kResampleIterations = 6;
constexpr double kLeastFall = 0.005;  // of a clock that is there
constexpr double kSmallFall = 0.02;   // what may hide where none is
constexpr double kPeriodsPerLag = 8;  // of the clock that is written

constexpr std::array<Load, 2> kCommunication{Load::kMessage, Load::kCollective};

std::string decimals(double value) {
  const auto tenths = std::llround(value * 10);
  return std::to_string(tenths / 10) + "." + std::to_string(std::abs(tenths % 10));
}

std::string rounded_percents(double share) { return decimals(100 * share) + " %"; }

std::string_view name(std::size_t load) { return kLoadNames[load]; }

/// "F with 2 of W".
std::string text_of(const CurvePoint& point) {
  return std::string(name(point.of)) + " with " + std::to_string(point.others) + " of " + std::string(name(point.by));
}

std::string text_of(const ContentionCurves& curves, std::size_t unknown) {
  if (unknown < curves.points().size()) return text_of(curves.points()[unknown]);
  const bool message = curves.has(CommonUnknown::kMessage) && unknown == curves.number(CommonUnknown::kMessage);
  return message ? "slowdown by a message" : "slowdown by a collective";
}

double rounded(double value) { return std::round(value * 1e6) / 1e6; }

/// Chooses what can be determined, then determines it.
class Fit {
 public:
  Fit(std::span<const Timeline> timelines, const ContentionFitOptions& options)
      : options_(options), data_(timelines, options.first_update), absorbed_(kComputeLoads * kComputeLoads, false) {}

  ContentionFit run() {
    note_times_alone();
    std::vector<CurvePoint> points = points_met();
    CommonUnknowns common{
        std::ranges::any_of(data_.intervals, [](const OverlapInterval& one) { return one.messages > 0; }),
        std::ranges::any_of(data_.intervals, [](const OverlapInterval& one) { return one.collectives > 0; }), false};
    while (!drop_what_cannot_be_told(points, common)) {
    }
    const ContentionCurves curves(points, common);
    std::vector<std::size_t> actions;
    for (std::size_t a = 0; a < data_.actions.size(); ++a) {
      const SeenAction& action = data_.actions[a];
      const bool counts =
          data_.knows(action, options_.least_alone) && data_.share_unknown(curves, action, absorbed_) <= kMostUnknown;
      if (counts) actions.push_back(a);
    }
    result_.actions = static_cast<std::int64_t>(actions.size());
    result_.left_out = static_cast<std::int64_t>(data_.actions.size()) - result_.actions;
    if (!actions.empty()) fit(curves, actions);
    refuse_useless();
    return std::move(result_);
  }

 private:
  void note_times_alone() {
    for (const AloneGroup& group : data_.groups) {
      if (group.time.count >= options_.least_alone) {
        result_.alone.push_back(group.time);
        continue;
      }
      result_.unknown.push_back(std::string(name(static_cast<std::size_t>(group.time.kind))) + " of stage " +
                                std::to_string(index(group.time.stage)) + " on device " +
                                std::to_string(index(group.time.device)) + ": seen alone " +
                                std::to_string(group.time.count) + " times, expected at least " +
                                std::to_string(options_.least_alone));
    }
  }

  /// 1, 2, 4, ... and the most met, of every pair of kinds that meet.
  std::vector<CurvePoint> points_met() const {
    std::array<std::array<std::uint16_t, kComputeLoads>, kComputeLoads> most{};
    for (const SeenAction& action : data_.actions) {
      if (!data_.knows(action, options_.least_alone)) continue;
      auto& row = most[static_cast<std::size_t>(action.overlapped.kind)];
      for (std::size_t s = action.overlapped.first; s != action.overlapped.end; ++s) {
        for (std::size_t by = 0; by < kComputeLoads; ++by) row[by] = std::max(row[by], data_.intervals[s].others[by]);
      }
    }
    std::vector<CurvePoint> points;
    for (std::size_t of = 0; of < kComputeLoads; ++of) {
      for (std::size_t by = 0; by < kComputeLoads; ++by) {
        for (std::uint16_t n = 1; n < most[of][by]; n = static_cast<std::uint16_t>(2 * n))
          points.push_back({of, by, n});
        if (most[of][by] > 0) points.push_back({of, by, most[of][by]});
      }
    }
    return points;
  }

  /// True when all unknowns can be determined; otherwise some are left out.
  bool drop_what_cannot_be_told(std::vector<CurvePoint>& points, CommonUnknowns& common) {
    const ContentionCurves curves(points, common);
    const std::size_t size = curves.size();
    std::vector<double> total(size, 0);
    std::vector<std::vector<double>> gram(size, std::vector<double>(size, 0));
    for (const SeenAction& action : data_.actions) {
      if (!data_.knows(action, options_.least_alone)) continue;
      const std::vector<double> met = data_.exposure(curves, action);
      for (std::size_t i = 0; i < size; ++i) {
        if (met[i] == 0) continue;
        total[i] += met[i];
        for (std::size_t j = 0; j < size; ++j) gram[i][j] += met[i] * met[j];
      }
    }
    exposure_ = total;
    std::vector<bool> gone(size, false);
    for (std::size_t i = 0; i < size; ++i) gone[i] = total[i] < options_.least_exposure;
    for (std::size_t i = 0; i < size; ++i) {
      if (!gone[i]) continue;
      result_.unknown.push_back(text_of(curves, i) + ": occurs for " + decimals(total[i]) +
                                " times the duration of an action alone, expected at least " +
                                decimals(options_.least_exposure));
    }
    if (std::ranges::none_of(gone, std::identity{})) find_dependent(curves, gram, gone);
    const bool done = std::ranges::none_of(gone, std::identity{});
    std::vector<CurvePoint> left;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (!gone[i]) left.push_back(points[i]);
    }
    for (const CommonUnknown one : {CommonUnknown::kMessage, CommonUnknown::kCollective}) {
      if (curves.has(one) && gone[curves.number(one)]) common[static_cast<std::size_t>(one)] = false;
    }
    points = std::move(left);
    return done;
  }

  /// Cholesky with the largest rest first: what the chosen ones explain almost wholly is gone.
  void find_dependent(const ContentionCurves& curves, std::vector<std::vector<double>> gram, std::vector<bool>& gone) {
    const std::vector<CurvePoint>& points = curves.points();
    const std::size_t size = gram.size();
    const std::vector<std::vector<double>> whole = gram;
    std::vector<bool> chosen(size, false);
    for (std::size_t round = 0; round < size; ++round) {
      std::size_t best = size;
      double largest = 0;
      for (std::size_t i = 0; i < size; ++i) {
        const double rest = gram[i][i] / whole[i][i];
        if (!chosen[i] && rest > largest) largest = rest, best = i;
      }
      if (best == size || std::sqrt(largest) < options_.independent) break;
      chosen[best] = true;
      const std::vector<double> pivot = gram[best];
      for (std::size_t i = 0; i < size; ++i) {
        for (std::size_t j = 0; j < size; ++j) gram[i][j] -= pivot[i] * pivot[j] / pivot[best];
      }
    }
    for (std::size_t i = 0; i < size; ++i) {
      if (chosen[i]) continue;
      gone[i] = true;
      if (i >= points.size()) {
        result_.unknown.push_back(text_of(curves, i) + ": always occurs together with other actions");
        continue;
      }
      absorbed_[points[i].of * kComputeLoads + points[i].by] = true;
      std::size_t twin = size;
      for (std::size_t j = 0; j < size; ++j) {
        if (!chosen[j]) continue;
        const auto likeness = [&](std::size_t k) { return whole[i][k] / std::sqrt(whole[k][k]); };
        if (twin == size || likeness(j) > likeness(twin)) twin = j;
      }
      const std::string with = twin == size ? "nothing else" : text_of(curves, twin);
      result_.unknown.push_back(text_of(points[i]) + ": always occurs together with others, above all " + with +
                                ", and is counted there");
    }
  }

  void fit(const ContentionCurves& curves, const std::vector<std::size_t>& actions) {
    const ContentionSolver solver(data_, curves, actions);
    const std::vector<double> once(data_.block_begin.back(), 1);
    const std::vector<double> nothing(curves.size(), 0);
    const ContentionSolution plain = solver.solve(nothing, once, kIterations);
    result_.error_alone = typical(solver, {nothing, plain.work});
    const ClockFound found = search_clock(data_, curves, actions, plain.values, options_);
    if (!found.unknown.empty()) result_.unknown.push_back(found.unknown);
    if (found.shape && fit_clock(curves, actions, plain.values, found)) return;
    result_.error_fitted = typical(solver, plain);
    tell(curves, plain.values, draws(solver, plain.values));
  }

  /// Fits with the clock that was found. Returns false where it does not count.
  bool fit_clock(const ContentionCurves& without, const std::vector<std::size_t>& actions, std::vector<double> values,
                 const ClockFound& found) {
    const ContentionCurves curves(
        without.points(), {without.has(CommonUnknown::kMessage), without.has(CommonUnknown::kCollective), true});
    const ContentionSolver solver(data_, curves, actions);
    const std::vector<double> once(data_.block_begin.back(), 1);
    values.push_back(0);
    const ContentionSolution solution = solver.solve(std::move(values), once, kIterations);
    std::vector<std::vector<double>> drawn = draws(solver, solution.values);
    FittedClock clock{found.shape->least, found.shape->most, with_interval(solution.values.back(), drawn.back()),
                      found.lag_ns, false};
    if (found.clear) {  // what the lag leaves open is added to what the updates leave open
      clock.fall.low = std::min(clock.fall.low, found.fall.low);
      clock.fall.high = std::max(clock.fall.high, found.fall.high);
    }
    clock.counts = found.clear && clock.fall.low >= kLeastFall && clock.fall.high - clock.fall.low <= kWidest;
    if (clock.counts || clock.fall.high <= kSmallFall) {
      result_.clock = clock;
    } else {
      result_.unknown.push_back("the clock: its fall could be anything from " + rounded_percents(clock.fall.low) +
                                " to " + rounded_percents(clock.fall.high) + ", and none is assumed");
    }
    if (!clock.counts) return false;
    result_.error_fitted = typical(solver, solution);
    tell(curves, solution.values, std::move(drawn));
    for (AloneTime& time : result_.alone) {
      for (std::size_t g = 0; g < data_.groups.size(); ++g) {
        const AloneTime& group = data_.groups[g].time;
        const bool same = group.device == time.device && group.stage == time.stage && group.kind == time.kind;
        if (same) time.median_ns = solution.work[g];
      }
    }
    write_clock(clock);
    return true;
  }

  void write_clock(const FittedClock& clock) {
    ClockModel& model = result_.contention.clock.emplace();
    std::fill_n(model.load.begin(), kComputeLoads, 1.0);
    model.points = {{clock.least, 1}, {clock.most, rounded(std::max(0.01, 1 - clock.fall.value))}};
    model.period_ns = std::max<std::int64_t>(1, std::llround(clock.lag_ns.value / kPeriodsPerLag));
    model.gain = rounded(1 - std::exp(-static_cast<double>(model.period_ns) / clock.lag_ns.value));
  }

  static double typical(const ContentionSolver& solver, const ContentionSolution& at) {
    std::vector<double> errors = solver.errors(at);
    for (double& error : errors) error = std::abs(error);
    return median_of(std::move(errors));
  }

  /// Returns the values of all resamples, by unknown.
  std::vector<std::vector<double>> draws(const ContentionSolver& solver, const std::vector<double>& values) const {
    std::vector<std::vector<double>> draws(values.size());
    std::mt19937_64 random(options_.seed);
    for (std::int64_t k = 0; k < options_.resamples; ++k) {
      const ContentionSolution drawn = solver.solve(values, data_.drawn_blocks(random), kResampleIterations);
      for (std::size_t i = 0; i < draws.size(); ++i) draws[i].push_back(drawn.values[i]);
    }
    return draws;
  }

  void tell(const ContentionCurves& curves, const std::vector<double>& values, std::vector<std::vector<double>> draws) {
    const auto& points = curves.points();
    bool certain = true;
    for (std::size_t p = 0; p < points.size(); ++p) {
      const Estimate gamma = with_interval(values[p], std::move(draws[p]));
      result_.gammas.push_back(
          {static_cast<Load>(points[p].of), static_cast<Load>(points[p].by), points[p].others, gamma, exposure_[p]});
      if (gamma.high - gamma.low > kWidest) {
        certain = false;
        result_.unknown.push_back(text_of(points[p]) + ": could be anything from " + rounded_percents(gamma.low) +
                                  " to " + rounded_percents(gamma.high) + ", so its curve is left out");
      }
      const bool last = p + 1 == points.size() || points[p + 1].of != points[p].of || points[p + 1].by != points[p].by;
      if (!last) continue;
      if (certain) add_curve(curves, points[p], values);
      certain = true;
    }
    for (const Load by : kCommunication) {
      const auto unknown = by == Load::kMessage ? CommonUnknown::kMessage : CommonUnknown::kCollective;
      if (!curves.has(unknown)) continue;
      const std::size_t at = curves.number(unknown);
      add_slowdown(curves, at, {by, with_interval(values[at], std::move(draws[at])), exposure_[at]});
    }
  }

  void add_slowdown(const ContentionCurves& curves, std::size_t at, const FittedSlowdown& slowdown) {
    result_.slowdowns.push_back(slowdown);
    if (slowdown.share.high - slowdown.share.low > kWidest) {
      result_.unknown.push_back(text_of(curves, at) + ": could be anything from " +
                                rounded_percents(slowdown.share.low) + " to " + rounded_percents(slowdown.share.high) +
                                ", so it is left out");
      return;
    }
    double& share =
        slowdown.by == Load::kMessage ? result_.contention.message_share : result_.contention.collective_share;
    share = rounded(std::min(0.99, slowdown.share.value));
  }

  void add_curve(const ContentionCurves& curves, const CurvePoint& last, const std::vector<double>& values) {
    Slowdown slowdown{.of = LoadSet{1} << last.of, .by = LoadSet{1} << last.by, .gamma = {}};
    double sum = 0;
    for (std::uint16_t n = 1; n <= last.others; ++n) {
      slowdown.gamma.push_back(rounded(curves.gamma(last.of, last.by, n, values)));
      sum += slowdown.gamma.back();
    }
    if (sum > 0) result_.contention.slowdowns.push_back(std::move(slowdown));
  }

  /// A fit that explains the runs no better than the times alone is none.
  void refuse_useless() {
    if (result_.error_fitted <= result_.error_alone || result_.contention.empty()) return;
    result_.contention = {};
    result_.clock.reset();
    result_.unknown.emplace_back(
        "everything: the runs are too noisy, and the fit explains them no better than the times alone");
  }

  ContentionFitOptions options_;
  ContentionData data_;
  std::vector<bool> absorbed_;  ///< pairs whose points are counted with others
  std::vector<double> exposure_;
  ContentionFit result_;
};

}  // namespace

ContentionFit fit_contention(std::span<const Timeline> timelines, const ContentionFitOptions& options) {
  return Fit(timelines, options).run();
}

}  // namespace plumb
