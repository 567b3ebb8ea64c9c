#pragma once

#include <cstdint>
#include <vector>

#include "sim/timeline/timeline.hpp"

namespace plumb {

/// The spans of a timeline, one array per member, in the order of `Timeline::spans`. Times are nanoseconds.
struct SpanColumns {
  std::vector<std::int32_t> device;
  std::vector<std::int8_t> lane;  ///< index into `kLaneNames`
  std::vector<std::int8_t> op;    ///< index into `kOpNames`
  std::vector<std::int32_t> stage;
  std::vector<std::int32_t> microbatch;
  std::vector<std::int64_t> start_ns;
  std::vector<std::int64_t> end_ns;
};

/// The memory curves of a timeline, one array per member, by device, then time: from `time_ns` on, `bytes` of one class
/// are alive on the device.
struct MemoryColumns {
  std::vector<std::int32_t> device;
  std::vector<std::int64_t> time_ns;
  std::vector<std::int8_t> memory_class;  ///< index into `kMemoryClassNames`
  std::vector<std::int64_t> bytes;
};

/// What devices hold where bytes are not known, one array per member, by device, then time: from `time_ns` on, `amount`
/// stashes of 1/p of the model.
struct StashColumns {
  std::vector<std::int32_t> device;
  std::vector<std::int64_t> time_ns;
  std::vector<double> amount;
};

SpanColumns span_columns(const Timeline& timeline);
MemoryColumns memory_columns(const Timeline& timeline);
StashColumns stash_columns(const Timeline& timeline);

}  // namespace plumb
