#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "schedules/catalogue/generator.hpp"

namespace plumb {

/// When a stage of a pipeline that is never flushed runs the forward and the backward of a microbatch. D, the
/// microbatches whose backwards stand between the two, decides which versions of the weights they read.
enum class Timing : std::uint8_t {
  k1f1b,   ///< one action at a time: D = p - 1 - d on device d (PipeDream)
  kSlots,  ///< a forward and a backward at once in every slot: D = 2(p - d) - 1 (PipeMare)
  kFused,  ///< as slots, but the last stage runs both of one microbatch in its slot: D = 2(p - 1 - d) (PB, PETRA)
};

/// D of device `d`; also the forwards that it runs before its first backward.
std::int64_t delay_of(Timing timing, std::int64_t p, std::int64_t d);

/// The option `timing`, `choices.begin()[0]` when not given. Throws `Error` for one that is not among the choices.
Timing timing_of(std::string_view name, const ScheduleParams& params, std::initializer_list<Timing> choices);

/// Name of a timing in options: `1f1b`, `slots`, `fused`.
std::string_view name_of(Timing timing);

/// The microbatches of one stage on one device, in turn: `warmup` forwards, then a forward and a backward, then the
/// backwards left; an update right after the backward of each `per_update`-th microbatch.
struct Turns {
  StageId stage{};
  ReplicaId replica{};
  std::int64_t microbatches = 0;  ///< that the device runs
  std::int64_t per_update = 1;    ///< of those
  std::int64_t warmup = 0;
  bool overlapped = false;        ///< a forward and the backward of its turn are a pair
  std::int64_t first = 0;         ///< number of its first microbatch
  std::int64_t stride = 1;        ///< from one of its microbatches to the next
  std::int64_t update = 0;        ///< number of its first update
  bool reduces = false;           ///< a reduction of the gradients right before each update
  std::int64_t syncs_each = 0;    ///< weights are exchanged after every so many updates; 0: never
  std::int64_t replay_ahead = 0;  ///< turns from the recompute of a microbatch to its backward; 0: none of its own
};

/// Appends the turns to `list`, loops folded.
void add_turns(ListBuilder& list, const Turns& turns);

/// Updates that cover a steady period: 4 ceil(fill / m) as far as indices reach, where `fill` microbatches fill the
/// pipeline: a quarter to fill, a quarter to drain, and two whole quarters between in which every device is steady.
std::int64_t steady_updates(const ScheduleParams& params, std::int64_t fill);

/// The order of schedules that fill a straight pipeline once and drain it once, with the first of `choices` as default
/// timing (recorded as `timing` in the parameters; `updates` is recorded too). The first `synchronous` updates are
/// run one after the other before that: all forwards, then all backwards. The weight policy is left to the caller.
/// `segment`: this many stages in a row keep only the input of the first one, and are recomputed (timing slots): the
/// stage at place r (from 1) of the S of its segment 2(S - r) + 1 turns before the backward; 0: no recompute.
Schedule flush_free_schedule(std::string_view name, const ScheduleParams& params, std::initializer_list<Timing> choices,
                             std::int64_t synchronous = 0, std::int64_t segment = 0);

}  // namespace plumb
