#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace plumb {

/// A way to run a layer.
struct LayerChoice {
  std::int64_t memory = 0;
  double time = 0;
};

/// One choice for every layer.
struct ChosenLayers {
  double time = 0;
  std::vector<std::size_t> choice;  ///< by layer
};

/// The choices with the least sum of times whose memory is at most `limit` together: a knapsack by dynamic programming
/// over layers and memory. None where nothing fits.
std::optional<ChosenLayers> cheapest_choices(std::span<const std::vector<LayerChoice>> layers, std::int64_t limit);

}  // namespace plumb
