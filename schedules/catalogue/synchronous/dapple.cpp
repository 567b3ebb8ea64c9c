#include "schedules/catalogue/registry.hpp"

namespace plumb {

Schedule dapple_replicated(const ScheduleParams& params);

/// By its rules, or with the option `replicas` over stages that several devices hold.
Schedule dapple(const ScheduleParams& params) {
  return params.options.contains("replicas") ? dapple_replicated(params)
                                             : generate_by_rules(schedule_named("dapple"), params);
}

}  // namespace plumb
