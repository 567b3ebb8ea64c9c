#include "sim/contention_fit.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <random>
#include <utility>

#include "sim/contention_curves.hpp"
#include "sim/contention_data.hpp"
#include "sim/contention_solver.hpp"

namespace plumb {
namespace {

constexpr double kMostUnknown = 0.02;  // of an action's time, with others of which there is no curve
constexpr int kIterations = 25;
constexpr double kWidest = 0.5;  // of an interval that still says something
constexpr int kResampleIterations = 6;

std::string decimals(double value) {
  const auto tenths = std::llround(value * 10);
  return std::to_string(tenths / 10) + "." + std::to_string(std::abs(tenths % 10));
}

std::string percents(double share) { return decimals(100 * share) + " %"; }

std::string_view name(std::size_t load) { return kLoadNames[load]; }

/// "F with 2 of W".
std::string text_of(const CurvePoint& point) {
  return std::string(name(point.of)) + " with " + std::to_string(point.others) + " of " + std::string(name(point.by));
}

/// Chooses what can be told, then tells it.
class Fit {
 public:
  Fit(std::span<const Timeline> timelines, const ContentionFitOptions& options)
      : options_(options), data_(timelines, options.first_update), absorbed_(kComputeLoads * kComputeLoads, false) {}

  ContentionFit run() {
    note_times_alone();
    std::vector<CurvePoint> points = points_met();
    bool theft = std::ranges::any_of(data_.stretches, [](const Stretch& stretch) { return stretch.messages > 0; });
    while (!drop_what_cannot_be_told(points, theft)) {
    }
    const ContentionCurves curves(points, theft);
    std::vector<std::size_t> actions;
    for (std::size_t a = 0; a < data_.actions.size(); ++a) {
      const SeenAction& action = data_.actions[a];
      const bool counts =
          data_.knows(action, options_.least_alone) && data_.share_unknown(curves, action, absorbed_) <= kMostUnknown;
      if (counts) actions.push_back(a);
    }
    result_.actions = static_cast<std::int64_t>(actions.size());
    result_.left_out = static_cast<std::int64_t>(data_.actions.size()) - result_.actions;
    if (!actions.empty()) fit(curves, std::move(actions));
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
      auto& row = most[static_cast<std::size_t>(action.met.kind)];
      for (std::size_t s = action.met.first; s != action.met.behind; ++s) {
        for (std::size_t by = 0; by < kComputeLoads; ++by) row[by] = std::max(row[by], data_.stretches[s].others[by]);
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

  /// True when all unknowns can be told; otherwise some are gone.
  bool drop_what_cannot_be_told(std::vector<CurvePoint>& points, bool& theft) {
    const ContentionCurves curves(points, theft);
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
      result_.unknown.push_back((i < points.size() ? text_of(points[i]) : "what a message takes") + ": met for " +
                                decimals(total[i]) + " actions' time, expected at least " +
                                decimals(options_.least_exposure));
    }
    if (std::ranges::none_of(gone, std::identity{})) find_dependent(points, gram, gone);
    const bool done = std::ranges::none_of(gone, std::identity{});
    std::vector<CurvePoint> left;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (!gone[i]) left.push_back(points[i]);
    }
    if (theft && gone.back()) theft = false;
    points = std::move(left);
    return done;
  }

  /// Cholesky with the largest rest first: what the chosen ones explain almost wholly is gone.
  void find_dependent(const std::vector<CurvePoint>& points, std::vector<std::vector<double>> gram,
                      std::vector<bool>& gone) {
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
        result_.unknown.push_back("what a message takes: always met together with other actions");
        continue;
      }
      absorbed_[points[i].of * kComputeLoads + points[i].by] = true;
      std::size_t twin = size;
      for (std::size_t j = 0; j < size; ++j) {
        if (!chosen[j]) continue;
        const auto likeness = [&](std::size_t k) { return whole[i][k] / std::sqrt(whole[k][k]); };
        if (twin == size || likeness(j) > likeness(twin)) twin = j;
      }
      const std::string with = twin < points.size() ? text_of(points[twin]) : "messages";
      result_.unknown.push_back(text_of(points[i]) + ": always met together with others, above all " + with +
                                ", and counted there");
    }
  }

  void fit(const ContentionCurves& curves, std::vector<std::size_t> actions) {
    const ContentionSolver solver(data_, curves, std::move(actions));
    std::vector<double> work;
    for (const AloneGroup& group : data_.groups) work.push_back(group.time.median_ns);
    const std::vector<double> nothing(curves.size(), 0);
    const std::vector<double> once(data_.block_begin.back(), 1);
    const std::vector<double> values = solver.solve(nothing, work, once, kIterations);
    const auto typical = [&](const std::vector<double>& at) {
      std::vector<double> errors = solver.errors(at, work);
      for (double& error : errors) error = std::abs(error);
      return median_of(std::move(errors));
    };
    result_.error_alone = typical(nothing);
    result_.error_fitted = typical(values);
    std::vector<std::vector<double>> draws(curves.size());
    std::mt19937_64 random(options_.seed);
    for (std::int64_t k = 0; k < options_.resamples; ++k) {
      const std::vector<double> weight = drawn_blocks(random);
      const std::vector<double> drawn = solver.solve(values, drawn_work(weight, work), weight, kResampleIterations);
      for (std::size_t i = 0; i < drawn.size(); ++i) draws[i].push_back(drawn[i]);
    }
    tell(curves, values, std::move(draws));
  }

  /// How often each update is drawn, timeline by timeline.
  std::vector<double> drawn_blocks(std::mt19937_64& random) const {
    std::vector<double> weight(data_.block_begin.back(), 0);
    for (std::size_t t = 0; t + 1 < data_.block_begin.size(); ++t) {
      const std::size_t count = data_.block_begin[t + 1] - data_.block_begin[t];
      for (std::size_t k = 0; k < count; ++k) ++weight[data_.block_begin[t] + random() % count];
    }
    return weight;
  }

  std::vector<double> drawn_work(const std::vector<double>& weight, std::vector<double> work) const {
    for (std::size_t g = 0; g < data_.groups.size(); ++g) {
      const AloneGroup& group = data_.groups[g];
      std::vector<double> drawn;
      for (std::size_t k = 0; k < group.ns.size(); ++k) {
        drawn.insert(drawn.end(), static_cast<std::size_t>(weight[group.blocks[k]]), group.ns[k]);
      }
      if (!drawn.empty()) work[g] = median_of(std::move(drawn));
    }
    return work;
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
        result_.unknown.push_back(text_of(points[p]) + ": anything from " + percents(gamma.low) + " to " +
                                  percents(gamma.high) + ", so its curve is left out");
      }
      const bool last = p + 1 == points.size() || points[p + 1].of != points[p].of || points[p + 1].by != points[p].by;
      if (!last) continue;
      if (certain) add_curve(curves, points[p], values);
      certain = true;
    }
    if (!curves.has_theft()) return;
    result_.theft.push_back(with_interval(values.back(), std::move(draws.back())));
    result_.contention.message_theft = std::min(0.99, std::round(values.back() * 1e6) / 1e6);
  }

  void add_curve(const ContentionCurves& curves, const CurvePoint& last, const std::vector<double>& values) {
    Slowdown slowdown{.of = LoadSet{1} << last.of, .by = LoadSet{1} << last.by, .gamma = {}};
    double sum = 0;
    for (std::uint16_t n = 1; n <= last.others; ++n) {
      slowdown.gamma.push_back(std::round(curves.gamma(last.of, last.by, n, values) * 1e6) / 1e6);
      sum += slowdown.gamma.back();
    }
    if (sum > 0) result_.contention.slowdowns.push_back(std::move(slowdown));
  }

  /// A fit that explains the runs no better than the times alone is none.
  void refuse_useless() {
    if (result_.error_fitted <= result_.error_alone || result_.contention.empty()) return;
    result_.contention = {};
    result_.unknown.emplace_back("everything: the runs are too disturbed, the fit is no better than the times alone");
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
