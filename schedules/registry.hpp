#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "schedules/schedule.hpp"

namespace plumb {

/// What a generator is asked for. `p` devices, `m` microbatches per update, `v` chunks per device, `updates` updates.
struct ScheduleParams {
  std::int32_t num_devices = 0;
  std::int64_t num_microbatches = 0;                ///< per update
  std::int32_t chunks = 0;                          ///< per device; 0: the schedule's own default
  std::int64_t updates = 0;                         ///< 0: the schedule's own default
  std::map<std::string, std::string> options = {};  ///< `--opt key=value`
};

/// One row of the catalogue.
struct ScheduleSpec {
  std::string_view name;
  std::string_view summary;
  std::int32_t year = 0;
  std::string_view source;  ///< "Huang et al., GPipe, arXiv 1811.06965"
  bool synchronous = true;
  std::string_view weights;    ///< name of the weight policy
  std::string_view placement;  ///< "linear", "looped", "bidirectional"
  std::string_view needs;      ///< "p even, m a multiple of p"; empty: nothing
  std::string_view options;    ///< "group=N: microbatches per group"; empty: none
  Schedule (*make)(const ScheduleParams&);
};

/// All schedules that Plumbline knows, in the order of the catalogue.
std::span<const ScheduleSpec> schedule_catalogue();

/// Generates a schedule. Throws `Error` for an unknown name (with the nearest one), unknown options, and impossible
/// parameters.
Schedule generate(std::string_view name, const ScheduleParams& params);

}  // namespace plumb
