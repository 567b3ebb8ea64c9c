#include "schedules/phases/phase_rules.hpp"

#include <string>
#include <utility>

#include "schedules/catalogue/generate_as.hpp"
#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/post_validation.hpp"
#include "schedules/phases/phase_frame.hpp"

namespace plumb {
namespace {

/// Another schedule, with options that the rules set.
Schedule schedule_like(const PhaseRules& rules, std::string_view name, const ScheduleParams& params) {
  check_chunks(rules, name, params);
  WholeNames names(rules.names);
  names.set(index(RuleName::kP), params.num_devices);
  names.set(index(RuleName::kM), params.num_microbatches);
  check_needs(rules, name, names);
  ScheduleParams theirs = params;
  for (const auto& [option, text] : rules.set_in_it) {
    const bool word = !text.starts_with('=');
    theirs.options[option] = word ? text : std::to_string(whole_value(text.substr(1), names, rules.same_as.where));
  }
  return generate_as(name, rules.same_as.text, theirs);
}

}  // namespace

Schedule schedule_from_rules(const PhaseRules& rules, std::string_view file_name, const ScheduleParams& params,
                             const PhaseChanges& changes) {
  if (rules.same_as) return schedule_like(rules, file_name, params);
  const std::string name(file_name.substr(file_name.rfind('/') + 1));
  PhaseFrame frame = phase_frame(rules, file_name, params);
  Schedule schedule = framed_schedule(rules, frame, name, params);
  schedule.devices = phase_lists(rules, frame, changes);
  if (!offers_option(rules, kValidationOption.name)) return schedule;
  return with_validation(name, params, std::move(schedule));
}

Schedule schedule_from_rules(std::string_view text, std::string_view file_name, const ScheduleParams& params) {
  return schedule_from_rules(phase_rules_from_text(text, file_name), file_name, params, {});
}

}  // namespace plumb
