#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/devices/kernel_timings.hpp"

namespace plumb {

/// What one run of nccl-tests or rccl-tests printed.
struct NcclTestRun {
  std::string device;  ///< name of the first rank's device
  std::int64_t ranks = 0;
  std::int64_t nodes = 0;
  std::vector<TimedCollective> timed;  ///< by size, the better of out-of-place and in-place; sizes below 1 KiB left out
};

/// Returns whether `text` looks like such output.
bool is_nccl_test_output(std::string_view text);

/// Reads the output of all_reduce_perf, all_gather_perf, reduce_scatter_perf, alltoall_perf or broadcast_perf, as
/// printed (github.com/NVIDIA/nccl-tests, src/util.cu; github.com/ROCm/rccl-tests): the lines "#  Rank ..." say who
/// took part, and of every line of numbers size, time and bus bandwidth count. Prefixes of launchers ("[1,0]<stdout>:",
/// " 0: ") are skipped. Older versions do not print which test ran: then the ratio of the two bandwidths and the type
/// of reduction tell, or `op`. Throws `Error` ("file:line: ...") for anything else, also where the printed bus
/// bandwidth contradicts size, time and ranks.
NcclTestRun nccl_test_run(std::string_view text, const std::string& file_name,
                          std::optional<CollectiveOp> op = std::nullopt);

/// Returns the collective that "all_reduce", "all_gather", "reduce_scatter", "alltoall" or "broadcast" names.
CollectiveOp collective_named(std::string_view name);

}  // namespace plumb
