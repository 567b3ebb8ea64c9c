#pragma once

#include <cstdint>

// How many optimizer steps ahead of the newest weights a stage predicts those that it reads. `r`: stage, from 0; `p`:
// stages; `m`: microbatches of an update.

namespace plumb {

/// SpecTrain as published: forward and backward aim at the moment when the microbatch ends its round trip at stage 0.
constexpr std::int32_t spectrain_forward(std::int32_t p, std::int32_t r) { return r / 2 + p - r - 1; }
constexpr std::int32_t spectrain_backward(std::int32_t r) { return r / 2; }

/// PipeOptim, and SpecTrain as released: the forward aims at the version of the stage's own backward.
constexpr std::int32_t own_backward_steps(std::int32_t p, std::int32_t r) { return p - r - 1; }

/// numerator / denominator, halves to even; both positive or zero.
constexpr std::int32_t rounded_half_even(std::int64_t numerator, std::int64_t denominator) {
  const std::int64_t whole = numerator / denominator;
  const std::int64_t twice_rest = 2 * (numerator % denominator);
  const bool up = twice_rest > denominator || (twice_rest == denominator && whole % 2 == 1);
  return static_cast<std::int32_t>(whole + (up ? 1 : 0));
}

/// XPipe: round((p + m - r/2 - 2) / m) and round((m + floor(r/2) - 1) / m). The rounding of halves is not published.
constexpr std::int32_t xpipe_forward(std::int32_t p, std::int64_t m, std::int32_t r) {
  return rounded_half_even(2 * (p + m - 2) - r, 2 * m);
}
constexpr std::int32_t xpipe_backward(std::int64_t m, std::int32_t r) { return rounded_half_even(m + r / 2 - 1, m); }

// In slots (a forward and a backward at once) a microbatch is back at stage 0 r slots after its backward at stage r,
// not r/2 turns, and 2 p - 1 slots after its forward at stage 0, not p - 1. The same moments with these numbers; ours,
// because nobody has published them.

/// SpecTrain: backwards of the stage between its own and the end of the round trip.
constexpr std::int32_t spectrain_backward_in_slots(std::int32_t r) { return r; }

/// XPipe: round((2 p - 1 - r + m - 1) / m) and round((r + m - 1) / m).
constexpr std::int32_t xpipe_forward_in_slots(std::int32_t p, std::int64_t m, std::int32_t r) {
  return rounded_half_even(2 * std::int64_t{p} - 2 - r + m, m);
}
constexpr std::int32_t xpipe_backward_in_slots(std::int64_t m, std::int32_t r) {
  return rounded_half_even(r + m - 1, m);
}

}  // namespace plumb
