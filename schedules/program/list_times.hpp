#pragma once

#include <functional>
#include <vector>

#include "models/ground/units.hpp"
#include "schedules/document/schedule.hpp"

namespace plumb {

/// When the actions of every device would start and end, in order of the lists, each as soon as it can.
struct ListTimes {
  struct Span {
    Action action;
    Ticks start = 0;
    Ticks end = 0;
  };
  std::vector<std::vector<Span>> devices;
  Ticks makespan = 0;
};

/// For generators that choose a schedule by its time or fill its gaps; all others should lower and simulate.
///
/// `duration` is called for every action; `transfer` is the time between the end of a value and its use on another
/// device. Overlapped pairs are not supported. `schedule` must be valid and without extra edges.
ListTimes list_times(const Schedule& schedule, const std::function<Ticks(const Action&)>& duration, Ticks transfer);

}  // namespace plumb
