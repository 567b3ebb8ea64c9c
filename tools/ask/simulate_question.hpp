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

/// A simulated job.
struct PredictedJob {
  std::string name;                   ///< of the schedule, as asked for
  std::vector<Violation> violations;  ///< of a schedule from a file; not empty: nothing was simulated
  std::optional<LaunchJob> launched;  ///< with `launch`
  PreparedRun run;                    ///< what was simulated, with the order that was decided
  MemoryLimit limit;
  Timeline timeline;                  ///< with the needs or limits of every device filled in
  std::string what_if;                ///< a table; empty without `what_if`
  std::string relief;                 ///< a table of what would help; empty where the job fits, or none was asked for
  std::vector<std::string> findings;  ///< a line per device that does not fit in memory
};

/// The tables that answer `question`, the launch file's part included; a drawing where the spans are known and
/// `drawn` says how.
std::string prediction_text(const PredictedJob& job, const SimulateQuestion& question,
                            const std::optional<TextTimelineOptions>& drawn);

/// Whether a schedule is short enough that a drawing in characters can be read.
bool is_drawn(const Schedule& schedule);

/// The job, read and checked, and ready to be simulated.
class PreparedJob {
 public:
  /// Fills in what the question leaves open (a launch file, costs that textbooks draw), loads documents and schedule,
  /// and prices the stages. Throws `Error` for whatever is missing or does not fit together.
  explicit PreparedJob(SimulateQuestion question);

  const Schedule& schedule() const { return answer_.run.schedule; }
  const std::vector<Violation>& violations() const { return answer_.violations; }
  const std::string& name() const { return answer_.name; }

  /// Decides the order, simulates, and holds the peaks against the memory. At most once.
  PredictedJob predict(const PredictionUse& use);

 private:
  void prepare();
  void simulate_prepared(const PredictionUse& use);

  SimulateQuestion question_;
  CostSource source_;
  PredictedJob answer_;
};

}  // namespace plumb
