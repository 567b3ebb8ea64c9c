#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sim/contention_fit/contention_curves.hpp"
#include "sim/contention_fit/contention_data.hpp"

namespace plumb {

/// Values of the unknowns, and the times alone at full clock that they imply, by group.
struct ContentionSolution {
  std::vector<double> values;
  std::vector<double> work;
};

/// Looks for the values of the unknowns that make every action's work come out right (`fit_contention`).
class ContentionSolver {
 public:
  /// All must outlive this. `actions`: those of `data` that count.
  ContentionSolver(const ContentionData& data, const ContentionCurves& curves, std::vector<std::size_t> actions);

  /// Returns the values at or above 0, beginning at `values`. `weight`: how often each block counts.
  ContentionSolution solve(std::vector<double> values, std::span<const double> weight, int iterations) const;

  /// integral / work - 1 of every action.
  std::vector<double> errors(std::span<const double> values, std::span<const double> work) const;
  std::vector<double> errors(const ContentionSolution& at) const { return errors(at.values, at.work); }
  const std::vector<std::size_t>& actions() const { return actions_; }

 private:
  struct Slope {
    std::size_t unknown = 0;
    double value = 0;
  };

  std::vector<double> solve_at(std::vector<double> values, std::span<const double> work, std::span<const double> weight,
                               int iterations) const;
  bool advance(const std::vector<double>& step, double rounded, std::span<const double> work,
               std::span<const double> weight, std::vector<double>& values) const;
  double total_error(std::span<const double> values, double rounded, std::span<const double> work,
                     std::span<const double> weight) const;
  double integral(std::size_t action, std::span<const double> values, std::vector<Slope>* slopes) const;

  const ContentionData& data_;
  const ContentionCurves& curves_;
  std::vector<std::size_t> actions_;
  std::vector<std::size_t> part_begin_;  ///< by interval of the actions, in order, and one past the end
  std::vector<ContentionCurves::PartOf> parts_;
  std::vector<std::size_t> first_interval_;  ///< by action: into `part_begin_`
};

}  // namespace plumb
