#include "tools/python/option_rows.hpp"

#include <algorithm>

#include "models/ground/error.hpp"
#include "tools/ask/schedule_question.hpp"
#include "tools/ask/simulate_question.hpp"
#include "tools/ask/sweep_question.hpp"
#include "tools/ask/validate_question.hpp"

namespace plumb {
namespace {

std::vector<OptionRow> rows_of(const OptionTable& table) {
  std::vector<OptionRow> rows;
  for (const OptionGroup& group : table.groups()) {
    for (const Option& option : group.options) {
      std::string name = option.name;
      std::ranges::replace(name, '-', '_');
      rows.push_back({.name = name, .kind = option.kind, .placeholder = option.placeholder, .help = option.help});
    }
  }
  return rows;
}

}  // namespace

std::vector<OptionRow> option_rows(const std::string& question) {
  if (question == "simulate") {
    SimulateQuestion asked;
    OptionTable table(SimulateQuestion::kUsage, "");
    asked.add_job_to(table);
    asked.add_questions_to(table);
    return rows_of(table);
  }
  if (question == "schedule") {
    ScheduleQuestion asked;
    OptionTable table(ScheduleQuestion::kUsage, "");
    asked.add_to(table);
    return rows_of(table);
  }
  if (question == "sweep") {
    SweepQuestion asked;
    OptionTable table(SweepQuestion::kUsage, "");
    asked.add_points_to(table);
    asked.add_costs_to(table);
    return rows_of(table);
  }
  if (question == "validate") {
    ValidateQuestion asked;
    OptionTable table(ValidateQuestion::kUsage, "");
    asked.add_to(table);
    return rows_of(table);
  }
  throw Error("'" + question + "': expected simulate, schedule, sweep or validate");
}

}  // namespace plumb
