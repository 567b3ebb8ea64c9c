#pragma once

#include <string_view>

#include "schedules/generator.hpp"

namespace plumb {

/// The order of schedules that fill the pipeline once and drain it once: warm-up forwards, then a forward and a
/// backward in turn, then the backwards left; an update right behind the backward of each m-th microbatch.
///
/// Option `timing`: `1f1b` (device d warms up with p - 1 - d forwards; one action at a time) or `slots` (2(p - d) - 1
/// forwards, then a forward and a backward at once as an overlapped pair; PipeMare's model).
/// Default updates: 4 ceil(D / m), as far as indices reach, where D microbatches fill the pipeline (p, slots: 2p - 1):
/// a quarter to fill, a quarter to drain, and two whole quarters between in which every device is steady. The weight
/// policy is left to the caller.
Schedule flush_free_schedule(std::string_view name, const ScheduleParams& params);

}  // namespace plumb
