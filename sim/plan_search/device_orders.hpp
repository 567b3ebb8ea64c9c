#pragma once

#include <cstdint>
#include <vector>

#include "sim/plan_search/prices/layer_prices.hpp"

namespace plumb {

/// Which place of a cluster is at each position of a pipeline.
struct DeviceOrders {
  std::vector<std::vector<std::int32_t>> orders{};
  bool complete = true;  ///< every order that could differ from those is there
};

/// Orders of `length` of the places that `prices` describes.
///
/// Places of one node with the same speed, memory and price are alike, and so are untouched nodes of the same make-up:
/// of those the first is taken. Where all places of the cluster are alike, and neighbours in a node are no further
/// apart than others, they keep the cluster's order. With more than `most` orders, only those in which places of a kind
/// and node stand together, slow places being left out first.
DeviceOrders device_orders(const LayerPrices& prices, std::int32_t length, std::size_t most);

/// Orders in which two unlike positions of `order` have changed places; none where all places are as fast.
std::vector<std::vector<std::int32_t>> swapped_orders(const LayerPrices& prices,
                                                      const std::vector<std::int32_t>& order);

}  // namespace plumb
