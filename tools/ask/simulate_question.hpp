#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/launches/launch.hpp"
#include "schedules/checks/validate.hpp"
#include "schedules/document/schedule.hpp"
#include "sim/prediction/predict.hpp"
#include "sim/runtimes/run_rules.hpp"
#include "sim/timeline/timeline.hpp"
#include "tools/ask/next_command.hpp"
#include "tools/ask/request.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/launch_arguments.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/run_options.hpp"
#include "tools/options/schedule_arguments.hpp"
#include "tools/reports/picture_style.hpp"
#include "tools/tables/text_timeline.hpp"

namespace plumb {

class AnswerDocument;

/// What a prediction is asked for. Every member has the default of the option that fills it.
struct SimulateQuestion {
  static constexpr const char* kUsage = "simulate (NAME|FILE | --job FILE) [options]";

  std::vector<std::string> names;  ///< one schedule, NAME or FILE; none with `launch`
  LaunchArguments launch;
  ScheduleArguments size;
  CostArguments costs;
  RunRules rules;
  OrderRule order = OrderRule::kFixed;
  bool peak = false;
  bool critical_path = false;
  bool delays = false;
  std::vector<std::string> what_if;
  PictureStyle style;  ///< of pictures that a request wants
  GivenOptions given;  ///< for the command that comes next

  /// Declares the options; this object must outlive the table. `outputs`: `FileOptions`.
  void add_to(OptionTable& table, const FileOptions& outputs = {});

  /// What a request may want of the answer.
  static std::vector<std::string_view> parts();
  /// Adds the parts that `request` wants.
  void add_parts(const Request& request, AnswerDocument& document);
};

/// The question of a request, whose texts that stand in for files must be in force (`GivenFiles`). Throws `Error` as
/// `take_request` does.
SimulateQuestion simulate_question(const Request& request);

/// What else the answer will be used for, which decides how much is simulated.
struct PredictionUse {
  bool spans = false;    ///< the timeline is drawn or written with its spans
  bool reports = false;  ///< reports are made: they show the tensors of each peak, too
  bool tables = false;   ///< tables are printed: they say what would help a job that does not fit
};

/// Whether a schedule is short enough that a drawing in characters can be read.
bool is_drawn(const Schedule& schedule);

/// A job, read and checked, and then its answer.
struct PreparedJob {
  /// Fills in what the question leaves open (a launch file, costs that textbooks draw), loads documents and schedule,
  /// and prices the stages. Throws `Error` for whatever is missing or does not fit together.
  explicit PreparedJob(SimulateQuestion asked);

  SimulateQuestion question;
  CostSource source;
  std::string name;                   ///< of the schedule, as asked for
  std::vector<Violation> violations;  ///< of a schedule from a file; not empty: it cannot be simulated
  std::optional<LaunchJob> launched;  ///< with `question.launch`
  PreparedRun run;                    ///< what is simulated; afterwards with the order that was decided
  MemoryLimit limit;

  /// Decides the order, simulates, and holds the peaks against the memory. At most once; the rest is known then.
  PreparedJob& predict(const PredictionUse& use);

  Timeline timeline;                  ///< with the needs or limits of every device filled in
  std::string what_if;                ///< a table; empty without `question.what_if`
  std::string relief;                 ///< a table of what would help; empty where the job fits, or none was asked for
  std::vector<std::string> findings;  ///< a line per device that does not fit in memory

  /// A line that says it all, the tables, the launch file's part included, a drawing where the spans are known and
  /// `drawn` says how, and the command that comes next.
  std::string text(std::optional<TextTimelineOptions> drawn) const;

 private:
  std::string verdict(TimeWords words) const;
  std::string next() const;
  void prepare();
  void simulate_prepared(const PredictionUse& use);
};

}  // namespace plumb
