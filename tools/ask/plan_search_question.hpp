#pragma once

#include <functional>
#include <optional>
#include <string>

#include "sim/plan_search/placed_schedule.hpp"
#include "sim/plan_search/plan_search.hpp"
#include "tools/options/launch_arguments.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/plan_search_arguments.hpp"
#include "tools/plans/launched_plan.hpp"
#include "tools/plans/plan_commands.hpp"
#include "tools/terminal/process_share.hpp"

namespace plumb {

/// The fastest configuration that fits. Every member has the default of the option that fills it.
struct PlanSearchQuestion {
  static constexpr const char* kUsage = "plan --network N --cluster C --batch B [options]";

  PlanSearchArguments job;
  LaunchArguments launch;
  bool explain = false;
  bool front = false;
  bool guide = false;

  /// Declares what is searched; this object must outlive the table.
  void add_job_to(OptionTable& table);
  /// Declares what else is to be found out.
  void add_questions_to(OptionTable& table);
};

/// How a search is watched, and ended early.
struct PlanSearchWatch {
  /// True ends the search: the best plan so far is the answer.
  std::function<bool()> stop = [] { return false; };
  /// Told how far a phase ("plan", "plan: fewer devices") is.
  std::function<void(const char* phase, const PlanProgress& so_far)> progress = [](const char*, const auto&) {};
};

struct FoundPlans {
  PlanAnswer answer;
  std::optional<SimulatedPlan> best;  ///< empty: nothing fits in memory
};

/// A search, read and checked, and ready to be run.
class PreparedPlanSearch {
 public:
  /// Throws `Error` for whatever is missing or does not fit together, and for a launch file that cannot run.
  explicit PreparedPlanSearch(PlanSearchQuestion question);
  PreparedPlanSearch(const PreparedPlanSearch&) = delete;
  PreparedPlanSearch& operator=(const PreparedPlanSearch&) = delete;

  const PlanQuestion& question() const { return question_; }
  /// How the answer is shown, with the schedule of the best plan in the file `output`; empty or "-": in none.
  PlanShown shown(const std::string& output) const;

  /// With several processes all make the same search, and each simulates some of the plans.
  FoundPlans search(const PlanSearchWatch& watch, const ProcessShare& share = {}) const;
  /// Everything that is printed about `found`, which has a best plan.
  std::string text(const FoundPlans& found, const PlanShown& shown) const;
  /// What fills the memory where nothing fits, what would help, and how many devices would; empty where that is not
  /// known.
  std::string closest(const FoundPlans& found, const PlanSearchWatch& watch = {}) const;
  /// Which resource limits the best plan, with a line break before; empty unless the question asks for it.
  std::string sensitivities(const FoundPlans& found, const PlanSearchWatch& watch) const;

 private:
  /// Plans that surely fit, and faster ones that are tight, in a `part` of the time.
  PlanAnswer search_all(const PlanSearchWatch& watch, const ProcessShare& share, double part) const;

  PlanSearchQuestion asked_;
  std::optional<LaunchedPlan> launched_;
  PlanQuestion question_;
};

}  // namespace plumb
