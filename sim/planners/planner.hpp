#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "models/ground/named_option.hpp"
#include "sim/planners/plan.hpp"
#include "sim/planners/problem.hpp"

namespace plumb {

/// The largest problem for which the plan search asks a planner: by the growth of its program, not by measured times.
struct PlannerLimit {
  std::size_t layers = 500;
  std::int32_t devices = 64;
};

/// A published planner. Its source `<name>.cpp` has its row; its place in the list is in `planner.cpp`.
struct Planner {
  std::string_view name{};
  std::string_view paper{};
  int year = 0;
  std::string_view minimises{};
  std::span<const NamedOption> options{};
  std::string_view uncertain{};  ///< what the sources leave open and how it was decided; "" for nothing
  PlannerLimit asked_up_to{};
  Plan (*plan)(const PlanProblem& problem) = nullptr;
};

/// All of them, by year.
std::span<const Planner> planners();

/// Throws `Error` for an unknown name, with the nearest one.
const Planner& find_planner(std::string_view name);

/// Runs `planner` after checking the problem and its options. Throws `Error` when there is no plan: the message says
/// why.
Plan make_plan(const Planner& planner, const PlanProblem& problem);

}  // namespace plumb
