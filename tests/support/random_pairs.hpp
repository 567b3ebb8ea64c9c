#pragma once

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "schedules/checks/validate.hpp"
#include "schedules/document/schedule.hpp"

namespace plumb::testing {

/// `schedule` with neighbours in its lists made overlapped pairs, of any two ops, at random and wherever it stays
/// valid.
inline Schedule with_random_pairs(Schedule schedule, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (DeviceList& list : schedule.devices) list = {expand(list), {}};
  for (DeviceList& list : schedule.devices) {
    for (std::size_t at = 0; at + 1 < list.actions.size(); ++at) {
      Action& first = list.actions[at];
      const bool taken = first.overlaps_next != 0 || (at > 0 && list.actions[at - 1].overlaps_next != 0) ||
                         list.actions[at + 1].overlaps_next != 0;
      if (taken || !can_overlap(first.op) || !can_overlap(list.actions[at + 1].op) || random() % 2 == 0) continue;
      first.overlaps_next = 1;
      if (!validate(schedule).empty()) first.overlaps_next = 0;
    }
  }
  return schedule;
}

/// The pairs of a schedule by their ops: "FF", "WF".
inline std::set<std::string> kinds_of_pairs(const Schedule& schedule) {
  std::set<std::string> kinds;
  for (const DeviceList& list : schedule.devices) {
    for (std::size_t at = 0; at + 1 < list.actions.size(); ++at) {
      if (list.actions[at].overlaps_next == 0) continue;
      std::string kind(kOpNames[static_cast<std::size_t>(list.actions[at].op)]);
      kind += kOpNames[static_cast<std::size_t>(list.actions[at + 1].op)];
      kinds.insert(std::move(kind));
    }
  }
  return kinds;
}

}  // namespace plumb::testing
