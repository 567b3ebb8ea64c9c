#include "sim/contention_fit/contention_solver.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <Eigen/Dense>

namespace plumb {
namespace {

/// Share of the median error up to which errors count by their squares; larger ones count by their size.
constexpr double kRounded = 0.3;
constexpr double kLeastRounded = 1e-6;
constexpr int kMostStepHalvings = 8;
constexpr double kLeastLeft = 0.01;  // of a device, and of its clock
constexpr int kClockRounds = 3;      // values for times alone, which depend on the clock, which is one of the values
constexpr double kMostValue = 100;   // a hundred times as long: the run was disturbed, or hardly met it

/// Solves the normal equations for a step from `values` under which no value gets below 0. A value that would is held
/// at 0, its row becomes that of the identity, and the others are solved again; each round holds one more or is the
/// last.
Eigen::VectorXd bounded_step(const Eigen::MatrixXd& normal, const Eigen::VectorXd& right,
                             const std::vector<double>& values) {
  const Eigen::Index size = right.size();
  std::vector<bool> held(static_cast<std::size_t>(size), false);
  Eigen::VectorXd step = Eigen::VectorXd::Zero(size);
  for (Eigen::Index round = 0; round <= size; ++round) {
    Eigen::MatrixXd system = normal;
    Eigen::VectorXd target = right;
    for (Eigen::Index k = 0; k < size; ++k) {
      system(k, k) += 1e-12;
      if (!held[static_cast<std::size_t>(k)]) continue;
      const double to_zero = -values[static_cast<std::size_t>(k)];
      target -= normal.col(k) * to_zero;
      system.row(k).setZero();
      system.col(k).setZero();
      system(k, k) = 1;
      target(k) = to_zero;
    }
    step = system.ldlt().solve(target);
    for (Eigen::Index k = 0; k < size; ++k) {
      if (held[static_cast<std::size_t>(k)]) step(k) = -values[static_cast<std::size_t>(k)];
    }
    bool fine = true;
    for (Eigen::Index k = 0; k < size; ++k) {
      const auto at = static_cast<std::size_t>(k);
      if (held[at] || values[at] + step(k) >= 0) continue;
      held[at] = true;
      fine = false;
    }
    if (fine) break;
  }
  return step;
}

}  // namespace

ContentionSolver::ContentionSolver(const ContentionData& data, const ContentionCurves& curves,
                                   std::vector<std::size_t> actions)
    : data_(data), curves_(curves), actions_(std::move(actions)) {
  std::vector<ContentionCurves::PartOf> parts;
  for (const std::size_t a : actions_) {
    const OverlappedAction& seen = data.actions[a].overlapped;
    first_interval_.push_back(part_begin_.size());
    for (std::size_t s = seen.first; s != seen.end; ++s) {
      curves.parts(static_cast<std::size_t>(seen.kind), data.intervals[s], data.fallen_in(data.intervals[s]), parts);
      part_begin_.push_back(parts_.size());
      parts_.insert(parts_.end(), parts.begin(), parts.end());
    }
  }
  part_begin_.push_back(parts_.size());
}

/// Adds up how much work an action does at the rates of its intervals: clock x what is left of the device / slowdown,
/// and the derivatives of that sum by the unknowns. At the true values it is the time alone at full clock.
double ContentionSolver::integral(std::size_t action, std::span<const double> values,
                                  std::vector<Slope>* slopes) const {
  const OverlappedAction& seen = data_.actions[actions_[action]].overlapped;
  double sum = 0;
  for (std::size_t s = seen.first, at = first_interval_[action]; s != seen.end; ++s, ++at) {
    double slow = 1;
    double left = 1;
    double clock = 1;
    for (std::size_t p = part_begin_[at]; p != part_begin_[at + 1]; ++p) {
      const double taken = parts_[p].weight * values[parts_[p].unknown];
      if (parts_[p].factor == RateFactor::kSlower) slow += taken;
      if (parts_[p].factor == RateFactor::kOccupied) left -= taken;
      if (parts_[p].factor == RateFactor::kClock) clock -= taken;
    }
    left = std::max(left, kLeastLeft);
    clock = std::max(clock, kLeastLeft);
    const double ns = data_.intervals[s].ns;
    sum += ns * clock * left / slow;
    for (std::size_t p = part_begin_[at]; slopes != nullptr && p != part_begin_[at + 1]; ++p) {
      const RateFactor factor = parts_[p].factor;
      const double by = factor == RateFactor::kSlower     ? clock * left / (slow * slow)
                        : factor == RateFactor::kOccupied ? clock / slow
                                                          : left / slow;
      slopes->push_back({parts_[p].unknown, -parts_[p].weight * ns * by});
    }
  }
  return sum;
}

std::vector<double> ContentionSolver::errors(std::span<const double> values, std::span<const double> work) const {
  std::vector<double> errors;
  for (std::size_t a = 0; a < actions_.size(); ++a) {
    errors.push_back(integral(a, values, nullptr) / work[data_.actions[actions_[a]].group] - 1);
  }
  return errors;
}

/// Alternates between values and times alone: these depend on how far the clock falls, which is one of the values.
ContentionSolution ContentionSolver::solve(std::vector<double> values, std::span<const double> weight,
                                           int iterations) const {
  const bool clock = curves_.has(CommonUnknown::kClock);
  const auto fall = [&] { return clock ? values[curves_.number(CommonUnknown::kClock)] : 0; };
  std::vector<double> work = data_.work(fall(), weight);
  for (int round = 0; round < (clock ? kClockRounds : 1); ++round) {
    values = solve_at(std::move(values), work, weight, iterations);
    if (clock) work = data_.work(fall(), weight);
  }
  return {std::move(values), std::move(work)};
}

/// Minimizes the sum of absolute errors by iteratively reweighted least squares: an error counts by its square over its
/// size, and small ones by their square alone. Each round takes a damped Gauss-Newton step.
std::vector<double> ContentionSolver::solve_at(std::vector<double> values, std::span<const double> work,
                                               std::span<const double> weight, int iterations) const {
  const auto size = static_cast<Eigen::Index>(curves_.size());
  std::vector<Slope> slopes;
  for (int round = 0; round < iterations && size > 0; ++round) {
    std::vector<double> sizes = errors(values, work);
    for (double& error : sizes) error = std::abs(error);
    const double rounded = std::max(kLeastRounded, kRounded * median_of(std::move(sizes)));
    Eigen::MatrixXd normal = Eigen::MatrixXd::Zero(size, size);
    Eigen::VectorXd right = Eigen::VectorXd::Zero(size);
    Eigen::VectorXd row = Eigen::VectorXd::Zero(size);
    for (std::size_t a = 0; a < actions_.size(); ++a) {
      const SeenAction& action = data_.actions[actions_[a]];
      if (weight[action.block] == 0) continue;
      slopes.clear();
      const double error = integral(a, values, &slopes) / work[action.group] - 1;
      const double counts = weight[action.block] / std::max(rounded, std::abs(error));
      for (const Slope& slope : slopes)
        row(static_cast<Eigen::Index>(slope.unknown)) += slope.value / work[action.group];
      for (const Slope& one : slopes) {
        const auto i = static_cast<Eigen::Index>(one.unknown);
        if (row(i) == 0) continue;
        right(i) -= counts * row(i) * error;
        for (const Slope& other : slopes) {
          const auto j = static_cast<Eigen::Index>(other.unknown);
          normal(i, j) += counts * row(i) * (other.value / work[action.group]);
        }
        row(i) = 0;
      }
      for (const Slope& slope : slopes) row(static_cast<Eigen::Index>(slope.unknown)) = 0;
    }
    const Eigen::VectorXd step = bounded_step(normal, right, values);
    if (!advance({step.begin(), step.end()}, rounded, work, weight, values)) break;
  }
  return values;
}

/// Goes along `step`, or half of it, a quarter and so on, until the sum of errors falls. Returns false if it never
/// does.
bool ContentionSolver::advance(const std::vector<double>& step, double rounded, std::span<const double> work,
                               std::span<const double> weight, std::vector<double>& values) const {
  const double before = total_error(values, rounded, work, weight);
  double share = 1;
  for (int tries = 0; tries < kMostStepHalvings; ++tries, share /= 2) {
    std::vector<double> next = values;
    for (std::size_t k = 0; k < next.size(); ++k) {
      const double most = k < curves_.points().size() ? kMostValue : 1 - kLeastLeft;
      next[k] = std::clamp(next[k] + share * step[k], 0.0, most);
    }
    if (total_error(next, rounded, work, weight) >= before) continue;
    values = std::move(next);
    return true;
  }
  return false;
}

double ContentionSolver::total_error(std::span<const double> values, double rounded, std::span<const double> work,
                                     std::span<const double> weight) const {
  const std::vector<double> all = errors(values, work);
  double sum = 0;
  for (std::size_t a = 0; a < all.size(); ++a) {
    const double error = std::abs(all[a]);
    sum += weight[data_.actions[actions_[a]].block] * (error < rounded ? error * error / rounded : 2 * error - rounded);
  }
  return sum;
}

}  // namespace plumb
