#include "sim/planners/planner.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "models/error.hpp"
#include "sim/planners/methods.hpp"

namespace plumb {
namespace {

constexpr std::array kPlanners{
    Planner{.name = "pipedream",
            .paper = "Narayanan et al., SOSP 2019, section 3.1",
            .year = 2019,
            .minimises = "time of the slowest stage or link",
            .options = "",
            .uncertain = "",
            .plan = plan_pipedream},
    Planner{.name = "pipedream-program",
            .paper = "its released program",
            .year = 2019,
            .minimises = "time of the slowest stage, synchronisation added",
            .options = "straight memory compression fewer cuts",
            .uncertain = "",
            .plan = plan_pipedream_program},
    Planner{.name = "dnn-partitioning",
            .paper = "Tarnawski et al., NeurIPS 2020",
            .year = 2020,
            .minimises = "largest load, transfers included",
            .options = "linear",
            .uncertain = "",
            .plan = plan_dnn_partitioning},
    Planner{.name = "piper",
            .paper = "Tarnawski et al., NeurIPS 2021",
            .year = 2021,
            .minimises = "time per microbatch of the slowest stage",
            .options = "",
            .uncertain = "",
            .plan = plan_piper},
};

void check_options(const Planner& planner, const PlanProblem& problem) {
  std::vector<std::string_view> known;
  for (std::string_view rest = planner.options; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    known.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  for (const auto& [option, value] : problem.options) {
    if (std::find(known.begin(), known.end(), option) == known.end()) {
      throw_unknown("option of " + std::string(planner.name), option, known);
    }
  }
}

}  // namespace

std::span<const Planner> planners() { return kPlanners; }

const Planner& find_planner(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Planner& planner : kPlanners) {
    if (planner.name == name) return planner;
    names.push_back(planner.name);
  }
  throw_unknown("planner", name, names);
}

Plan make_plan(const Planner& planner, const PlanProblem& problem) {
  check_problem(problem);
  check_options(planner, problem);
  return planner.plan(problem);
}

}  // namespace plumb
