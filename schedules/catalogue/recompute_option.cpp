#include "schedules/catalogue/recompute_option.hpp"

#include <string>

namespace plumb {

RecomputeChoice recompute_choice(std::string_view name, const ScheduleParams& params, Schedule& schedule,
                                 std::initializer_list<std::string_view> offered) {
  const std::string said = choice(name, params, "recompute", offered);
  if (said == "never") return {};
  schedule.parameters["recompute"] = said;
  const RecomputeChoice chosen{true, said == "except-last" || said == "early-except-last", said.rfind("early", 0) == 0};
  if (chosen.early) return chosen;
  Recompute rule;
  rule.last_stage = schedule.num_stages - 1;
  rule.except_last_microbatch = chosen.except_last;
  schedule.recompute.push_back(rule);
  return chosen;
}

}  // namespace plumb
