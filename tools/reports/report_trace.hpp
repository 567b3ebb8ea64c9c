#pragma once

#include "models/ground/text_pieces.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

/// Writes Chrome trace events (JSON object form), as read by Perfetto and chrome://tracing.
///
/// One process per device, with a row for compute, one for idle time by cause, rows for transfers by direction and for
/// collectives; an arrow for every value that changes devices; one memory counter with a series per class.
/// Times are microseconds with three decimals, so that no nanosecond is lost. Throws `Error` above 4 million spans and
/// points of the memory curve, which viewers do not hold.
void trace_report(const Timeline& timeline, const TextSink& sink);

}  // namespace plumb
