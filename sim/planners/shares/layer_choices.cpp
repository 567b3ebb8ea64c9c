#include "sim/planners/shares/layer_choices.hpp"

#include "sim/planners/numbers.hpp"

namespace plumb {

std::optional<ChosenLayers> cheapest_choices(std::span<const std::vector<LayerChoice>> layers, std::int64_t limit) {
  if (limit < 0) return {};
  const auto states = static_cast<std::size_t>(limit) + 1;
  std::vector<double> least(states, 0);  // of the layers so far in at most so much memory
  std::vector<std::vector<std::uint8_t>> taken;
  for (const std::vector<LayerChoice>& layer : layers) {
    std::vector<double> next(states, kNever);
    std::vector<std::uint8_t> choice(states, 0);
    for (std::size_t one = 0; one < layer.size(); ++one) {
      const auto memory = static_cast<std::size_t>(layer[one].memory);
      for (std::size_t state = memory; state < states; ++state) {
        const double time = least[state - memory] + layer[one].time;
        if (time >= next[state]) continue;
        next[state] = time;
        choice[state] = static_cast<std::uint8_t>(one);
      }
    }
    least = std::move(next);
    taken.push_back(std::move(choice));
  }
  std::size_t state = states - 1;
  if (least[state] == kNever) return {};
  ChosenLayers chosen{.time = least[state], .choice = std::vector<std::size_t>(layers.size())};
  for (std::size_t layer = layers.size(); layer-- > 0;) {
    chosen.choice[layer] = taken[layer][state];
    state -= static_cast<std::size_t>(layers[layer][chosen.choice[layer]].memory);
  }
  return chosen;
}

}  // namespace plumb
