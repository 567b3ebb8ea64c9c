#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/traces/readers/rank_trace.hpp"

namespace plumb {

/// Returns whether a text is such a trace.
bool is_kineto(std::string_view text);

/// Reads a trace of PyTorch's profiler (Kineto, JSON in Chrome's format): one rank, or several that were merged into
/// one file. Times are `ts` microseconds after `baseTimeNanoseconds`. Other events than ranges of the kinds of
/// `RangeKind` are passed over.
///
/// One rank is told by `distributedInfo`. In a merged file, which has none, the rank of an event is its argument
/// `rank`, or that of its process: its name or labels ("rank 3"), or, where process numbers are 0, 1, 2 ..., the
/// number.
///
/// Throws `Error` with file, line and column for broken JSON, and where the file does not say which ranks it is of.
std::vector<RankTrace> read_kineto(std::string text, const std::string& file_name);

}  // namespace plumb
