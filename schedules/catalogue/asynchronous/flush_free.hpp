#pragma once

#include <cstdint>

#include "schedules/catalogue/generator.hpp"

namespace plumb {

/// The microbatches of one stage on one device, in turn: `warmup` forwards, then a forward and a backward, then the
/// backwards left; an update right after the backward of each `per_update`-th microbatch.
struct Turns {
  StageId stage{};
  ReplicaId replica{};
  std::int64_t microbatches = 0;  ///< that the device runs
  std::int64_t per_update = 1;    ///< of those
  std::int64_t warmup = 0;
  std::int64_t first = 0;       ///< number of its first microbatch
  std::int64_t stride = 1;      ///< from one of its microbatches to the next
  std::int64_t update = 0;      ///< number of its first update
  bool reduces = false;         ///< a reduction of the gradients right before each update
  std::int64_t syncs_each = 0;  ///< weights are exchanged after every so many updates; 0: never
};

/// Appends the turns to `list`, loops folded.
void add_turns(ListBuilder& list, const Turns& turns);

/// Updates that cover a steady period: 4 ceil(fill / m) as far as indices reach, where `fill` microbatches fill the
/// pipeline: a quarter to fill, a quarter to drain, and two whole quarters between in which every device is steady.
std::int64_t steady_updates(const ScheduleParams& params, std::int64_t fill);

}  // namespace plumb
