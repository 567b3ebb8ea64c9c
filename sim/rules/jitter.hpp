#pragma once

#include <cstdint>

#include "models/ground/units.hpp"
#include "schedules/program/program.hpp"

namespace plumb {

/// Random factor of one instr's duration: `duration * (1 + jitter * z)`, at least 0, to the nearest tick.
///
/// `z` has mean 0 and standard deviation 1: the sum of four uniform 16-bit numbers taken from a hash of (seed, instr),
/// so that it is bounded (|z| < 3.47), needs no state, and does not depend on the order in which an engine works.
/// `jitter` is `DeviceSpec::jitter` of the device. An overlapped pair draws once, for its first member.
Ticks jittered(Ticks duration, double jitter, std::uint64_t seed, InstrIndex instr);

/// `Program::durations` of the instr's row, with the jitter of its device when `device_specs` has one.
Ticks duration_of(const Program& program, InstrIndex instr, DeviceId device, std::uint64_t seed);

/// Returns whether some device of the program has jitter.
bool has_jitter(const Program& program);

}  // namespace plumb
