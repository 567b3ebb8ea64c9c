#include "sim/planners/operators/favourite_children.hpp"

#include <algorithm>
#include <cmath>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

constexpr std::size_t kMostEntries = 4'000'000;
constexpr double kTiny = 1e-9;
/// Of equal makespans, the earliest starts: what a start costs beside the makespan.
constexpr double kCostOfStart = 1e-9;
constexpr int kBeforeBland = 20'000;  ///< pivots by the largest violation; later by the first one, which never cycles

/// min cost z, rows z >= bound, z >= 0, with costs of at least 0: the dual simplex method from the slack basis.
class DualSimplex {
 public:
  DualSimplex(std::vector<double> costs, std::size_t rows) : columns_(costs.size()), costs_(std::move(costs)) {
    if ((rows + 1) * columns_ > kMostEntries) {
      throw Error("baechi: the linear programme of m-SCT has " + std::to_string(rows) + " rows of " +
                  std::to_string(columns_) + " variables, expected at most 4 million entries; use etf");
    }
    for (std::size_t j = 0; j < columns_; ++j) outside_.push_back(j);
  }

  void add_row(const std::vector<std::pair<std::size_t, double>>& terms, double bound) {
    inside_.push_back(columns_ + inside_.size());
    values_.push_back(-bound);
    table_.resize(table_.size() + columns_, 0);
    for (const auto& [column, factor] : terms) entry(values_.size() - 1, column) += factor;
  }

  std::vector<double> solve(const StopSign& stop) {
    for (int pivots = 0;; ++pivots) {
      stop.check();
      const std::size_t row = violated(pivots < kBeforeBland);
      if (row == values_.size()) break;
      pivot(row, entering(row));
    }
    std::vector<double> solution(columns_, 0);
    for (std::size_t i = 0; i < inside_.size(); ++i) {
      if (inside_[i] < columns_) solution[inside_[i]] = values_[i];
    }
    return solution;
  }

 private:
  double& entry(std::size_t row, std::size_t column) { return table_[row * columns_ + column]; }

  std::size_t violated(bool largest) const {
    std::size_t found = values_.size();
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (values_[i] >= -kTiny) continue;
      const bool better =
          found == values_.size() || (largest ? values_[i] < values_[found] : inside_[i] < inside_[found]);
      if (better) found = i;
    }
    return found;
  }

  std::size_t entering(std::size_t row) {
    std::size_t best = columns_;
    for (std::size_t j = 0; j < columns_; ++j) {
      if (entry(row, j) <= kTiny) continue;
      if (best == columns_) {
        best = j;
        continue;
      }
      const double one = costs_[j] * entry(row, best);
      const double other = costs_[best] * entry(row, j);
      if (one < other || (one == other && outside_[j] < outside_[best])) best = j;
    }
    if (best == columns_) throw Error("baechi: the linear programme of m-SCT has no solution");
    return best;
  }

  /// What is inside in `row` and what is outside in `column` change places.
  void pivot(std::size_t row, std::size_t column) {
    const double by = entry(row, column);
    for (std::size_t j = 0; j < columns_; ++j) entry(row, j) /= j == column ? 1 : -by;
    entry(row, column) = 1 / by;
    values_[row] /= -by;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const double factor = entry(i, column);
      if (i == row || factor == 0) continue;
      entry(i, column) = 0;
      for (std::size_t j = 0; j < columns_; ++j) entry(i, j) += factor * entry(row, j);
      values_[i] += factor * values_[row];
    }
    const double factor = costs_[column];
    costs_[column] = 0;
    for (std::size_t j = 0; j < columns_; ++j) costs_[j] += factor * entry(row, j);
    std::swap(inside_[row], outside_[column]);
  }

  std::size_t columns_;
  std::vector<double> costs_;  ///< of what is outside
  std::vector<double> table_;  ///< by row, then column: what is inside is `values_` and these times what is outside
  std::vector<double> values_;
  std::vector<std::size_t> inside_;  ///< by row: a variable, or `columns_` and the number of a slack
  std::vector<std::size_t> outside_;
};

/// Variables: of every edge 1 - x, of every operator its start, and the makespan.
std::vector<double> solved(const DelayedWork& work, const StopSign& stop) {
  const std::size_t edges = work.edges.size();
  const std::size_t operators = work.times.size();
  const std::size_t makespan = edges + operators;
  std::vector<double> costs(makespan + 1, 0);
  for (std::size_t i = 0; i < operators; ++i) costs[edges + i] = kCostOfStart;
  costs[makespan] = 1;
  DualSimplex simplex(std::move(costs), edges + 3 * operators);
  std::vector<std::vector<std::pair<std::size_t, double>>> leave(operators);
  std::vector<std::vector<std::pair<std::size_t, double>>> enter(operators);
  for (std::size_t e = 0; e < edges; ++e) {
    const DelayedWork::Edge& edge = work.edges[e];
    simplex.add_row({{edges + edge.to, 1}, {edges + edge.from, -1}, {e, edge.delay}},
                    work.times[edge.from] + edge.delay);
    leave[edge.from].emplace_back(e, -1);
    enter[edge.to].emplace_back(e, -1);
  }
  for (std::size_t i = 0; i < operators; ++i) {
    simplex.add_row({{makespan, 1}, {edges + i, -1}}, work.times[i]);
    if (!leave[i].empty()) simplex.add_row(leave[i], -1);
    if (!enter[i].empty()) simplex.add_row(enter[i], -1);
  }
  return simplex.solve(stop);
}

}  // namespace

FavouriteChildren favourite_children(const DelayedWork& work, const StopSign& stop) {
  // In units of the longest time or delay, so that what counts as nothing does not depend on the unit.
  double unit = 0;
  for (const double time : work.times) unit = std::max(unit, time);
  for (const DelayedWork::Edge& edge : work.edges) unit = std::max(unit, edge.delay);
  if (unit <= 0) unit = 1;
  DelayedWork scaled = work;
  for (double& time : scaled.times) time /= unit;
  for (DelayedWork::Edge& edge : scaled.edges) edge.delay /= unit;
  const std::vector<double> solution = solved(scaled, stop);
  const std::size_t none = work.times.size();
  FavouriteChildren found{.elsewhere = {}, .makespan = solution.back() * unit, .favourite = {}};
  found.favourite.assign(none, none);
  std::vector<std::size_t> parent(none, none);
  for (std::size_t e = 0; e < work.edges.size(); ++e) {
    found.elsewhere.push_back(1 - solution[e]);
    if (found.elsewhere.back() >= 0.5 - kTiny) continue;
    const DelayedWork::Edge& edge = work.edges[e];
    const std::size_t before = parent[edge.to];
    if (before != none) found.favourite[before] = none;
    found.favourite[edge.from] = edge.to;
    parent[edge.to] = edge.from;
  }
  return found;
}

}  // namespace plumb
