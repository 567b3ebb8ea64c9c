#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "sim/traces/readers/rank_run.hpp"

namespace plumb {

/// The JSON text of a file that a runtime's own timers dumped.
struct DumpText {
  std::string_view text;
  std::string_view file_name;
};

/// Returns whether a text looks like a dump that `read_pp_dumps` reads.
bool is_pp_dump(std::string_view text);

/// Reads what patched versions of Megatron-LM dump per pipeline rank, in milliseconds of CUDA events from the rank's
/// own begin of each step:
/// - Primus (`dump_pp_data`): `pp_rank_3.json`, an object per iteration with `fwd_start`, `fwd_end`, `bwd_*`, `wgrad_*`
///   and, in some runtimes, `*_minibatch` and `*_chunk`; and `config.json` with `pp_size`, `vp_size` and `num_mbs`;
/// - the patch of PP-Schedule-Visualization: `event_times_PP4_VPP1_..._pp_rank_3_rank_3.json`, `forward-7-start`,
///   `backward-7-end` of one step, or `forward-1-7-start` with the chunk in front.
///
/// The rank comes from the file's name. A dump numbers chunks by rank; chunk c of rank r becomes stage c p + r
/// (`RankRun::numbers_chunks`). Where Primus names no microbatches, they are those of Megatron-LM's schedules: p in a
/// row of each chunk, forwards from the first chunk on, backwards from the last. With `wgrad_*` a backward is an I, and
/// they are the W, in the order of the I where they are not named (its weight gradients wait in a queue).
///
/// Throws `Error` with file and place for everything else.
std::vector<RankRun> read_pp_dumps(std::span<const DumpText> files);

}  // namespace plumb
