#pragma once

#include <string>

#include "sim/contention_fit/contention_fit.hpp"

namespace plumb {

/// The fitted points with their intervals, how well they explain the runs, and what the runs cannot determine.
std::string contention_text(const ContentionFit& fit);

}  // namespace plumb
