#pragma once

#include <cstdint>
#include <string_view>

#include "schedules/catalogue/generator.hpp"

namespace plumb {

/// Workers that keep their microbatches while the stages come to them in turns: what `weipipe` and `tawpipe` share.
///
/// Worker r runs all p stages of m / p microbatches. From turn `start` on it forwards one stage in each turn; from p
/// turns later on a turn begins with the backward of one stage of the microbatch before.
struct TravellingTurns {
  std::int64_t p = 0;
  std::int64_t passes = 0;  ///< microbatches of a worker in an update
  std::int64_t group = 1;   ///< workers that run the same turns
  std::int64_t updates = 1;

  std::int64_t start(std::int64_t worker) const { return worker / group; }
  std::int64_t groups() const { return p / group; }
  /// Of an update, all workers together.
  std::int64_t turns() const { return passes * p + p + groups() - 1; }
  /// The stage whose forward (backward) is, or would be, run by the workers that start at turn `start`.
  std::int64_t forward_stage(std::int64_t start, std::int64_t turn) const { return ((turn - start) % p + p) % p; }
  std::int64_t backward_stage(std::int64_t start, std::int64_t turn) const {
    return p - 1 - forward_stage(start, turn);
  }
  bool has_forward(std::int64_t start, std::int64_t turn) const { return turn >= start && turn < start + passes * p; }
  bool has_backward(std::int64_t start, std::int64_t turn) const { return has_forward(start, turn - p); }
};

/// The turns of `name` for these parameters. Throws where m is no multiple of p, or there are too many turns.
TravellingTurns travelling_turns(std::string_view name, const ScheduleParams& params, std::int64_t group);

/// Placement and parameters, without lists and edges.
Schedule travelling_frame(std::string_view name, const ScheduleParams& params, const TravellingTurns& turns);

/// A point of time of a worker, an X without work: the begin of turn `turn` of an update, or (`at_end`) its end.
struct TurnMark {
  std::int64_t worker = 0;
  std::int64_t update = 0;
  std::int64_t turn = 0;
  bool at_end = false;
};

/// The X of a mark. There are marks for `extra` turns after the last one, so that gradients can come home.
Action mark(const TravellingTurns& turns, const TurnMark& of, std::int64_t extra);

/// Writes the lists of all workers, with marks at the begin of turns and, if wanted, at their ends.
void write_workers(Schedule& schedule, const TravellingTurns& turns, bool ends, std::int64_t extra);

}  // namespace plumb
