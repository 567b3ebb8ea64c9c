#include "tools/options/sweep_grid.hpp"

namespace plumb {

std::vector<SweepPoint> sweep_grid(const SweepRanges& ranges, const ScheduleParams& base) {
  std::vector<SweepPoint> points;
  const auto add_sizes = [&](SweepPoint point) {
    for (const std::int64_t devices : ranges.devices) {
      point.params.num_devices = static_cast<std::int32_t>(devices);
      for (const std::int64_t chunks : ranges.chunks) {
        point.params.chunks = static_cast<std::int32_t>(chunks);
        for (const std::int64_t microbatches : ranges.microbatches) {
          point.params.num_microbatches = microbatches;
          points.push_back(point);
        }
      }
    }
  };
  for (const std::string& cost : ranges.costs) {
    for (const std::string& limit : ranges.memory_limits) {
      for (const JobDegrees& job : ranges.jobs) {
        for (const std::string& schedule : ranges.schedules) add_sizes({schedule, base, cost, limit, job});
      }
    }
  }
  return points;
}

}  // namespace plumb
