#pragma once

#include <cstdint>

#include "models/ground/rational.hpp"
#include "models/ground/units.hpp"
#include "schedules/document/action.hpp"

namespace plumb {

struct StageCosts;

/// What an extra action X<n> does (document: `extras`).
struct ExtraWork {
  enum class Kind : std::uint8_t {
    kUnits,    ///< only its amount is known, in units of the cost X
    kPass,     ///< a pass of one microbatch through a stage
    kLayers,   ///< a forward of one microbatch through layers of the network
    kTime,     ///< a time
    kTeacher,  ///< a forward of `units` microbatches through the teacher of the stage, which has weights of its own
  };

  Kind kind = Kind::kUnits;
  double units = 1;                   ///< how often; parts of a microbatch are fractions
  Op pass = Op::kF;                   ///< kPass: F, B, I, W or R ...
  std::int32_t stages_ahead = 0;      ///< ... of the stage this many after the action's own in the chain, cyclic
  std::int64_t first_layer = 0;       ///< kLayers: of the chain of the network ...
  std::int64_t end_layer = 0;         ///< ... one past the last
  std::int64_t time_ns = 0;           ///< kTime, on a device of speed 1
  std::int64_t first_microbatch = 0;  ///< kTeacher

  friend bool operator==(const ExtraWork&, const ExtraWork&) = default;
};

/// `units` as the fraction with the smallest denominator (at most a million) that is exactly this number in double
/// precision: 0.08333333333333333 is 1/12. Where there is none, the nearest one with a denominator of a million.
Rational units_as_fraction(double units);

/// The time of `work` as an action of `stage` on a device of speed 1. If costs come from a network, passes and
/// layers take the times of the network, and bare units take no time; otherwise everything but a time takes `units`
/// times the cost X. Throws `Error` for layers that the network does not have, or whose times are not known.
Ticks extra_time(const ExtraWork& work, const StageCosts& costs, StageId stage);

}  // namespace plumb
