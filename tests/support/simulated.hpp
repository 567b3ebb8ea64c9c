#pragma once

#include <map>
#include <string>
#include <string_view>

#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/lowering/lower.hpp"
#include "sim/simulate.hpp"

namespace plumb::testing {

/// A catalogue schedule and its abstract costs, as on the command line.
struct Case {
  std::string_view name;
  std::int32_t p = 0;
  std::int64_t m = 0;
  std::string_view cost = "F=1,B=2";
  std::int32_t chunks = 0;  ///< 0: as the schedule likes
  bool per_device = false;  ///< `--per-device`: costs are those of all chunks together
  std::string_view memory = "";
  std::int64_t updates = 0;
  std::map<std::string, std::string> options = {};
};

inline Schedule schedule_of(const Case& c) {
  return generate(
      c.name,
      {.num_devices = c.p, .num_microbatches = c.m, .chunks = c.chunks, .updates = c.updates, .options = c.options});
}

inline StageCosts costs_of(const Case& c, const Schedule& schedule) {
  return abstract_costs(c.cost, c.memory,
                        {.num_stages = schedule.num_stages,
                         .stages_together = c.per_device ? schedule.num_stages / c.p : 1,
                         .vocabulary = schedule.vocabulary});
}

inline Program program_of(const Case& c) {
  const Schedule schedule = schedule_of(c);
  return lower(schedule, costs_of(c, schedule));
}

inline Timeline simulated(const Case& c, const SimOptions& options = {}) { return simulate(program_of(c), options); }

/// Times of F, I, W and B that differ from stage to stage, and that no stage repeats soon.
inline void set_uneven_times(StageCosts& costs) {
  for (std::size_t s = 0; s < costs.times.size(); ++s) {
    const auto k = static_cast<Ticks>(s);
    costs.times[s].f = 100 + 17 * ((k * 7) % 5);
    costs.times[s].i = 120 + 11 * ((k * 5) % 7);
    costs.times[s].w = 80 + 13 * ((k * 3) % 4);
    costs.times[s].b = costs.times[s].i + costs.times[s].w;
  }
}

/// Ticks in units of the abstract costs (one unit = 1 ms).
inline double in_units(Ticks ticks, Timebase base) {
  return static_cast<double>(ticks) / (static_cast<double>(base.ticks_per_ns) * 1e6);
}

}  // namespace plumb::testing
