#pragma once

#include <cstdint>
#include <span>

namespace plumb {

/// A question to another clock and its answer, in nanoseconds.
struct ClockSample {
  std::int64_t asked = 0;     ///< own clock
  std::int64_t answered = 0;  ///< the other clock
  std::int64_t received = 0;  ///< own clock
};

/// Returns the number of nanoseconds to add to the own clock to get the other one.
///
/// The answer was given between question and receipt, so every sample bounds the offset from both sides. The result is
/// the value within all bounds that is nearest to 0: exactly 0 when both are the same clock, as they are on one
/// machine. Where the samples contradict each other (a clock was set), the middle of the shortest one. At least one
/// sample.
std::int64_t clock_offset(std::span<const ClockSample> samples);

}  // namespace plumb
