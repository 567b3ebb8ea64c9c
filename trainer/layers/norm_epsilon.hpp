#pragma once

namespace plumb {

/// Added to the variance in every norm.
inline constexpr double kNormEpsilon = 1e-5;

}  // namespace plumb
