#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/plan_search/placed_schedule.hpp"
#include "sim/plan_search/plan_search.hpp"
#include "tools/ask/next_command.hpp"
#include "tools/options/launch_arguments.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/plan_question.hpp"
#include "tools/plans/launched_plan.hpp"
#include "tools/plans/plan_commands.hpp"
#include "tools/terminal/process_share.hpp"

namespace plumb {

class AnswerDocument;
struct Request;

/// The fastest configuration that fits. Every member has the default of the option that fills it.
struct PlanSearchQuestion {
  static constexpr const char* kUsage = "plan [MODEL|LAUNCH_FILE] --cluster C --batch B [options]";

  std::vector<std::string> model;  ///< at most one: a network, or a launch file
  PlanSearchArguments job;
  LaunchArguments launch;
  bool explain = false;
  bool front = false;
  bool guide = false;
  GivenOptions given;  ///< for the command that comes next

  /// Declares the options; this object must outlive the table. `outputs`: `FileOptions`.
  void add_to(OptionTable& table, const FileOptions& outputs = {});

  /// What a request may want of the answer.
  static std::vector<std::string_view> parts() { return {"plan", "text", "document", "html"}; }
  /// Adds the parts that `request` wants.
  void add_parts(const Request& request, AnswerDocument& document);
};

/// How a search is watched, and ended early.
struct PlanSearchWatch {
  /// True ends the search: the best plan so far is the answer.
  std::function<bool()> stop = [] { return false; };
  /// Told how far a phase ("plan", "plan: fewer devices") is.
  std::function<void(const char* phase, const PlanProgress& so_far)> progress = [](const char*, const auto&) {};
};

/// A search, read and checked, and then what it found.
class PreparedPlanSearch {
 public:
  /// Throws `Error` for whatever is missing or does not fit together, and for a launch file that cannot run.
  explicit PreparedPlanSearch(PlanSearchQuestion question);
  PreparedPlanSearch(const PreparedPlanSearch&) = delete;
  PreparedPlanSearch& operator=(const PreparedPlanSearch&) = delete;

  const PlanQuestion& question() const { return question_; }

  /// With several processes all make the same search, and each simulates some of the plans.
  void search(const PlanSearchWatch& watch, const ProcessShare& share = {});
  const PlanAnswer& found() const { return answer_; }
  /// The best plan; none: nothing fits in memory.
  const std::optional<SimulatedPlan>& best() const { return best_; }

  /// Everything that is printed about the best plan, which there is.
  std::string text(const PlanFile& file) const;
  /// The command that comes next.
  std::string next(const PlanFile& file) const;
  /// What fills the memory where nothing fits, what would help, and how many devices would; empty where that is not
  /// known.
  std::string closest(const PlanSearchWatch& watch = {}) const;
  /// Which resource limits the best plan, with a line break before; empty unless the question asks for it.
  std::string sensitivities(const PlanSearchWatch& watch) const;

 private:
  /// Plans that surely fit, and faster ones that are tight, in a `part` of the time.
  PlanAnswer search_all(const PlanSearchWatch& watch, const ProcessShare& share, double part) const;

  PlanSearchQuestion asked_;
  std::optional<LaunchedPlan> launched_;
  PlanQuestion question_;
  PlanAnswer answer_;
  std::optional<SimulatedPlan> best_;
};

}  // namespace plumb
