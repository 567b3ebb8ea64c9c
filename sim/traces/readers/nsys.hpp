#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/traces/readers/rank_trace.hpp"

namespace plumb {

/// Whether `bytes` begin as an SQLite database does.
bool is_sqlite(std::string_view bytes);

/// Reads what Nsight Systems exported (`nsys export --type sqlite`), process by process: NVTX ranges (`NVTX_EVENTS`;
/// those of PyTorch's `emit_nvtx` that are named `aten::`, `autograd::` or `c10d::`, or numbered, are operators), calls
/// of CUDA (`CUPTI_ACTIVITY_KIND_RUNTIME`), kernels, copies and captured graphs that ran
/// (`CUPTI_ACTIVITY_KIND_KERNEL`, `_MEMCPY`, `_MEMSET`, `_GRAPH_TRACE`). Times count from the begin of the session
/// (`TARGET_INFO_SESSION_START_TIME`). Processes without NVTX ranges are left out. The export does not know ranks.
///
/// Throws `Error` where the database is damaged or has no NVTX ranges.
std::vector<RankTrace> read_nsys(const std::string& bytes, const std::string& file_name);

}  // namespace plumb
