#pragma once

#include <functional>
#include <string>

#include "tools/options/option_table.hpp"
#include "tools/options/plan_question.hpp"
#include "tools/plans/jobs_answer.hpp"

namespace plumb {

/// Several whole jobs on one cluster: who gets which devices, when?
struct JobsQuestion {
  static constexpr const char* kUsage = "plan --jobs FILE [--cluster C] [options]";

  std::string file;
  /// What jobs do not say for themselves; what is searched.
  PlanSearchArguments job;

  /// Declares the options; this object must outlive the table.
  void add_to(OptionTable& table);
  /// `progress` is told which search of how many begins. Throws `Error` for a job that fits nowhere.
  JobsAnswer answer(const std::function<void(std::int64_t done, std::int64_t all, const std::string& job)>& progress =
                        [](auto, auto, const auto&) {}) const;
};

}  // namespace plumb
