#pragma once

#include "models/ground/text_pieces.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

/// Writes one row per span, by device and start:
/// `device,lane,op,stage,microbatch,replica,start_ns,end_ns,idle_before_ns,cause` (cause only after idle time).
void csv_report(const Timeline& timeline, const TextSink& sink);

}  // namespace plumb
