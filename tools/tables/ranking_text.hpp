#pragma once

#include <string>

#include "sim/comparison/ranking.hpp"

namespace plumb {

/// A row per configuration, and how many pairs are in the predicted order.
std::string ranking_text(const Ranking& ranking);

}  // namespace plumb
