#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schedules/checks/list_contents.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/document/walk.hpp"
#include "schedules/rules/start_together.hpp"

namespace plumb {
namespace {

void check_group(const Schedule& schedule, const std::vector<StageId>& group, std::set<StageId>& known,
                 Findings& findings) {
  const auto fail = [&](const std::string& what) { findings.add(0, 0, "", "start_together: " + what); };
  if (group.size() < 2) fail("a list of " + std::to_string(group.size()) + " stages; expected at least 2");
  for (const StageId stage : group) {
    if (!known.insert(stage).second) fail("names stage " + std::to_string(index(stage)) + " twice");
  }
  for (const auto& replica : schedule.placement) {
    std::set<DeviceId> devices;
    for (const StageId stage : group) {
      const std::vector<DeviceId>& holders = replica[index(stage)];
      const std::string where = "stage " + std::to_string(index(stage)) + " is on ";
      if (holders.size() != 1) {
        fail(where + std::to_string(holders.size()) + " devices; expected one");
      } else if (!devices.insert(holders.front()).second) {
        fail(where + "device " + std::to_string(index(holders.front())) +
             ", as another stage of its list; expected one of its own");
      }
    }
  }
}

/// A pass that starts together with others, and where it stands.
struct Standing {
  CommonStart start;
  std::size_t device = 0;
  std::int64_t position = 0;
  Action action;
};

}  // namespace

void check_start_together(const Schedule& schedule, Findings& findings) {
  std::set<StageId> known;
  for (const std::vector<StageId>& group : schedule.start_together) check_group(schedule, group, known, findings);
}

void check_common_starts(const Schedule& schedule, Findings& findings) {
  const CommonStarts starts(schedule);
  if (!starts.any()) return;
  std::vector<Standing> all;
  for (std::size_t device = 0; device < schedule.devices.size(); ++device) {
    std::int64_t position = 0;
    bool second = false;
    walk(schedule.devices[device], [&](const Action& action) {
      const auto start = starts.of(action);
      const bool in_pair = second || action.overlaps_next != 0;
      if (start && in_pair) {
        findings.add(device, position, to_string(action),
                     "starts together with passes of other devices; expected no overlapped pair");
      } else if (start && action.merged != 0) {
        findings.add(device, position, to_string(action),
                     "starts together with passes of other devices; expected one microbatch");
      } else if (start) {
        all.push_back({*start, device, position, action});
      }
      second = action.overlaps_next != 0;
      ++position;
    });
  }
  std::ranges::stable_sort(all, {}, &Standing::start);
  for (std::size_t begin = 0; begin < all.size();) {
    const Standing& one = all[begin];
    const std::size_t expected = schedule.start_together[static_cast<std::size_t>(one.start.group)].size();
    std::size_t end = begin;
    while (end < all.size() && all[end].start == one.start) ++end;
    if (end - begin != expected) {
      findings.add(one.device, one.position, to_string(one.action),
                   "starts together with " + std::to_string(end - begin - 1) + " passes of other devices; expected " +
                       std::to_string(expected - 1) + ", cut into the same slices");
    }
    begin = end;
  }
}

}  // namespace plumb
