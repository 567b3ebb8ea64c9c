#include "schedules/phases/phase_rules.hpp"

#include <string>

#include "schedules/catalogue/generator.hpp"
#include "schedules/phases/phase_frame.hpp"

namespace plumb {

Schedule schedule_from_rules(const PhaseRules& rules, std::string_view file_name, const ScheduleParams& params,
                             const PhaseChanges& changes) {
  const std::string name(file_name.substr(file_name.rfind('/') + 1));
  const PhaseFrame frame = phase_frame(rules, file_name, params);
  Schedule schedule = framed_schedule(rules, frame, name, params);
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    schedule.devices.push_back(repeat_steps(params, frame.whole ? 1 : frame.updates,
                                            [&](ListBuilder& list) { write_phases(rules, frame, d, changes, list); }));
  }
  return schedule;
}

Schedule schedule_from_rules(std::string_view text, std::string_view file_name, const ScheduleParams& params) {
  return schedule_from_rules(phase_rules_from_text(text, file_name), file_name, params, {});
}

}  // namespace plumb
