#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedules/checks/validate.hpp"
#include "schedules/document/schedule.hpp"
#include "sim/runtimes/run_rules.hpp"
#include "tools/ask/next_command.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/schedule_arguments.hpp"

namespace plumb {

class AnswerDocument;
struct Request;

struct CheckedSchedule {
  Schedule schedule;
  std::vector<Violation> violations;  ///< everything that is wrong; empty: it is valid
};

/// Whether a schedule is complete, in a possible order, and free of deadlocks.
struct ValidateQuestion {
  static constexpr const char* kUsage = "validate NAME|FILE [options]";

  std::string name;    ///< NAME or FILE
  std::string format;  ///< of FILE; empty: by its extension
  std::string modes;
  std::string models;
  RunRules rules;
  ScheduleArguments size;
  GivenOptions given;  ///< for the command that comes next

  /// Declares the options; this object must outlive the table.
  void add_to(OptionTable& options);

  /// Loads the schedule and checks it. Throws `Error` for what cannot be read, and for unknown names.
  CheckedSchedule check() const;

  /// The command that simulates the schedule; empty for one that is read from standard input.
  std::string next() const;

  /// What a request may want of the answer.
  static std::vector<std::string_view> parts() { return {"text"}; }
  /// Adds the parts that `request` wants.
  void add_parts(const Request& request, AnswerDocument& document);
};

/// "mine.txt: valid: 4 devices, 4 stages, 8 microbatches, 64 actions".
std::string valid_text(const std::string& name, const Schedule& schedule);

}  // namespace plumb
