#pragma once

#include <cstdint>

#include "schedules/document/schedule.hpp"

namespace plumb {

/// PyTorch's classes that run one stage per rank, each with waits of its own.
enum class SingleClass : std::uint8_t { kNone, kGPipe, k1F1B };

/// Returns the class that runs this order: one stage per device, whole backwards, no messages in the lists (those of
/// files are run by `_PipelineScheduleRuntime`), and in each update F F F B B B (in any order of microbatches), or as
/// many forwards as stages are left, then backwards and forwards in turn. Looks at the first few thousand actions of
/// each device.
SingleClass single_class_of(const Schedule& schedule);

}  // namespace plumb
