#include "tools/python/columns.hpp"

#include <cstddef>

namespace plumb {

SpanColumns span_columns(const Timeline& timeline) {
  SpanColumns columns;
  for (const Span& span : timeline.spans) {
    columns.device.push_back(static_cast<std::int32_t>(span.device));
    columns.lane.push_back(static_cast<std::int8_t>(span.lane));
    columns.op.push_back(static_cast<std::int8_t>(span.action.op));
    columns.stage.push_back(static_cast<std::int32_t>(span.action.stage));
    columns.microbatch.push_back(static_cast<std::int32_t>(span.action.microbatch));
    columns.start_ns.push_back(to_ns(span.start, timeline.base));
    columns.end_ns.push_back(to_ns(span.end, timeline.base));
  }
  return columns;
}

MemoryColumns memory_columns(const Timeline& timeline) {
  MemoryColumns columns;
  for (std::size_t device = 0; device < timeline.memory.ends.size(); ++device) {
    for (const MemoryPoint& point : timeline.memory.of(device)) {
      columns.device.push_back(static_cast<std::int32_t>(device));
      columns.time_ns.push_back(to_ns(point.time(), timeline.base));
      columns.memory_class.push_back(static_cast<std::int8_t>(point.cls()));
      columns.bytes.push_back(point.bytes());
    }
  }
  return columns;
}

StashColumns stash_columns(const Timeline& timeline) {
  const StashCurves& curves = timeline.stashes;
  StashColumns columns;
  for (std::size_t device = 0; device < curves.devices.size(); ++device) {
    for (const StashPoint& point : curves.devices[device]) {
      columns.device.push_back(static_cast<std::int32_t>(device));
      columns.time_ns.push_back(to_ns(point.time, timeline.base));
      columns.amount.push_back(point.amount * curves.share);
    }
  }
  return columns;
}

}  // namespace plumb
