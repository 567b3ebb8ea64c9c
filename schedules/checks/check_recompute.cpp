#include <cstdint>

#include "schedules/checks/list_contents.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/document/walk.hpp"
#include "schedules/rules/recompute_rules.hpp"

namespace plumb {

void check_recompute(const Schedule& schedule, Findings& findings) {
  const RecomputeRules rules(schedule);
  if (!rules.any()) return;
  for (std::size_t device = 0; device < schedule.devices.size(); ++device) {
    std::int64_t position = 0;
    walk(schedule.devices[device], [&](const Action& action) {
      if (!rules.agree(action)) {
        findings.add(
            device, position, to_string(action),
            "some of its microbatches are recomputed, others are not; expected all or none of a merged action");
      }
      ++position;
    });
  }
}

}  // namespace plumb
