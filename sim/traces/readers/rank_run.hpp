#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedules/document/action.hpp"

namespace plumb {

/// One thing that a rank did, found in its trace. Times are those of the rank's clock.
struct TracedAction {
  Action action;
  std::int32_t step = 0;  ///< the how-many-th occurrence of the action on this rank
  std::int64_t begin_ns =
      0;  ///< the range's begin: the program turned to the action, and may have waited for a message
  std::int64_t start_ns = 0;  ///< the work's begin, after the wait; equal to `begin_ns` where nothing was waited for
  std::int64_t end_ns = 0;
  std::int64_t operators_ns = 0;    ///< time that operators or kernels ran in work; 0: not known
  std::int64_t profiler_step = -1;  ///< the n of the range ProfilerStep#n that it begins in; -1: of none
  std::optional<std::int64_t> arrived_ns = std::nullopt;  ///< when a RECV's value was there, where the trace tells
  std::optional<std::int64_t> waited_ns =
      std::nullopt;  ///< when the wait for a SEND in the step ended, where the trace tells
};

/// How the microbatches of a rank's work are known.
enum class Numbering : std::uint8_t {
  kNamed,    ///< the trace names them, and steps are counted by how often an action occurs
  kCounted,  ///< forwards, and backwards, are counted over all steps: `number_microbatches` divides them
};

/// What one rank did, in order of begin.
struct RankRun {
  std::string file;
  std::int32_t rank = 0;
  std::int32_t world_size = 0;
  std::string backend;                 ///< what the ranks talk by: "gloo", "nccl"
  std::string group;                   ///< the ranks of the job that make up its pipeline, as `RankTrace::group`
  std::string runtime;                 ///< what ran the schedule, as in `--runtime`
  std::vector<TracedAction> work;      ///< on the compute lane
  std::vector<TracedAction> messages;  ///< SEND and RECV: the calls that issue them, not the messages under way
  std::vector<TracedAction> others;    ///< UNSHARD, REDUCE_GRAD, RESHARD
  std::int32_t steps = 0;              ///< 0: not counted yet (`keep_whole_steps`, `number_microbatches`)
  std::int32_t stages = 0;             ///< stages of the pipeline, as far as this rank's work and messages tell
  Numbering numbering = Numbering::kNamed;
  bool own_zeros = false;  ///< times of every step count from a moment of the rank's own
  /// The trace numbers chunks by rank; stages stand for chunks that go round the ranks (`place_chunks` finds out).
  bool numbers_chunks = false;
  std::vector<std::string> left_out;  ///< sentences: what of the trace is in no step
};

}  // namespace plumb
