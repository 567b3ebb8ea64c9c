#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

#include "sim/plan_search/prices/layer_prices.hpp"

namespace plumb::testing {

inline std::int64_t drawn_number(std::mt19937& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

/// Prices of `layers` layers with small numbers, so that a tick more or less shows, on places of speed 1. Stages are
/// the sums of their layers. Nodes have `per_node` places; memory is limited where `room` is above 0.
inline LayerPrices drawn_prices(std::mt19937& random, std::size_t layers, std::int32_t places, std::int32_t per_node,
                                std::int64_t room) {
  LayerPrices prices;
  const auto draw = [&](std::int64_t low, std::int64_t high) { return drawn_number(random, low, high); };
  for (std::size_t k = 0; k < layers; ++k) {
    const StageTimes times{
        .f = draw(1, 20), .b = draw(2, 40), .i = draw(1, 20), .w = draw(1, 20), .r = draw(1, 20), .u = draw(0, 9)};
    const LayerLeast::Passes alone{times.f, times.b, times.i, times.w};
    const LayerLeast::Passes paired{draw(1, times.f), draw(1, times.b), draw(1, times.i), draw(1, times.w)};
    prices.times.push_back(times);
    prices.load.push_back(times.f + least_backward(times));
    prices.held_bytes.push_back(draw(1, 30));
    prices.kept_bytes.push_back(draw(0, 30));
    prices.least.push_back({.alone = alone,
                            .paired = paired,
                            .u = times.u,
                            .held_bytes = prices.held_bytes.back(),
                            .kept_bytes = prices.kept_bytes.back()});
    prices.messages.push_back({draw(1, 60), draw(1, 60), draw(1, 60)});
    prices.memory.push_back({.gradient_bytes = prices.messages.back().gradient_bytes,
                             .output_bytes = prices.messages.back().output_bytes,
                             .input_grad_bytes = prices.messages.back().input_grad_bytes});
    prices.whole.f += times.f;
    prices.whole.b += least_backward(times);
    prices.whole.i += times.i;
    prices.whole.w += times.w;
    prices.whole.u += times.u;
    prices.whole_held_bytes += prices.held_bytes.back();
    prices.least_gradient_bytes += prices.messages.back().gradient_bytes;
    prices.least_update = k == 0 ? times.u : std::min(prices.least_update, times.u);
    prices.most_update = std::max(prices.most_update, times.u);
  }
  for (std::int32_t place = 0; place < places; ++place) {
    prices.speed.push_back(1);
    prices.usable_bytes.push_back(room > 0 ? draw(room / 2, room) : 0);
    prices.node.push_back(place / per_node);
  }
  prices.most_in_node = std::min(per_node, places);
  prices.near = {.latency_ns = draw(0, 3), .bytes_per_s = 4e9, .shared = draw(0, 1) == 1};
  prices.far = {.latency_ns = draw(0, 9), .bytes_per_s = 1e9, .shared = draw(0, 1) == 1};
  prices.hop = draw(0, 5);
  prices.crossing = draw(5, 9);
  prices.place_update = draw(0, 9);
  return prices;
}

}  // namespace plumb::testing
