#include "sim/plan_search/device_orders.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace plumb {
namespace {

using Order = std::vector<std::int32_t>;
using Make = std::tuple<double, std::int64_t, double>;  ///< speed, memory, and the price below 0: more is better

Make make_of(const LayerPrices& prices, std::int32_t place) {
  const auto at = static_cast<std::size_t>(place);
  return {prices.speed[at], prices.usable_bytes[at], prices.price.empty() ? 0 : -prices.price[at]};
}

/// Depth-first search over all orders that differ.
///
/// At each position only one place of a kind is tried. Two places are of a kind if they are alike and in one node that
/// the order has touched, or in two untouched nodes with equal places: to exchange them changes nothing.
class OrderSearch {
 public:
  OrderSearch(const LayerPrices& prices, std::size_t length, std::size_t most)
      : prices_(prices), length_(length), most_(most), used_(prices.speed.size()) {
    for (std::int32_t place = 0; place < static_cast<std::int32_t>(prices.speed.size()); ++place) {
      nodes_[node_of(place)].push_back(make_of(prices, place));
    }
  }

  /// Returns all orders; nothing if there are more than `most`.
  std::optional<std::vector<Order>> run() {
    extend();
    if (orders_.size() > most_) return std::nullopt;
    return std::move(orders_);
  }

 private:
  std::int32_t node_of(std::int32_t place) const { return prices_.node[static_cast<std::size_t>(place)]; }

  /// Appends each kind of place that is left to the order, and goes on.
  void extend() {
    if (orders_.size() > most_) return;
    if (order_.size() == length_) {
      orders_.push_back(order_);
      return;
    }
    std::set<std::tuple<std::int32_t, Make>> tried;                    // in touched nodes
    std::set<std::tuple<std::vector<Make>, Make>> tried_in_untouched;  // by what the node is made of
    for (std::int32_t place = 0; place < static_cast<std::int32_t>(used_.size()); ++place) {
      if (used_[static_cast<std::size_t>(place)]) continue;
      const std::int32_t node = node_of(place);
      const Make make = make_of(prices_, place);
      const bool is_new = touched_[node] > 0 ? tried.insert({node, make}).second
                                             : tried_in_untouched.insert({nodes_[node], make}).second;
      if (!is_new) continue;
      used_[static_cast<std::size_t>(place)] = true;
      ++touched_[node];
      order_.push_back(place);
      extend();
      order_.pop_back();
      --touched_[node];
      used_[static_cast<std::size_t>(place)] = false;
    }
  }

  const LayerPrices& prices_;
  std::size_t length_;
  std::size_t most_;
  std::vector<bool> used_;
  std::map<std::int32_t, std::vector<Make>> nodes_;
  std::map<std::int32_t, std::int32_t> touched_;
  Order order_;
  std::vector<Order> orders_;
};

/// Returns the places of a kind and node together, the groups in every order (of at most five groups; more keep theirs,
/// forwards and backwards).
std::vector<Order> grouped_orders(const LayerPrices& prices, std::size_t length) {
  constexpr std::size_t kMostGroups = 5;
  std::map<std::pair<std::int32_t, Make>, Order> by_kind;
  for (std::int32_t place = 0; place < static_cast<std::int32_t>(prices.speed.size()); ++place) {
    by_kind[{prices.node[static_cast<std::size_t>(place)], make_of(prices, place)}].push_back(place);
  }
  // Slowest places first, the last of a kind first.
  Order leave(prices.speed.size());
  std::iota(leave.rbegin(), leave.rend(), 0);
  std::stable_sort(leave.begin(), leave.end(), [&](std::int32_t a, std::int32_t b) {
    return prices.speed[static_cast<std::size_t>(a)] < prices.speed[static_cast<std::size_t>(b)];
  });
  leave.resize(prices.speed.size() - length);
  std::vector<Order> groups;
  for (const auto& [kind, places] : by_kind) {
    Order kept;
    std::copy_if(places.begin(), places.end(), std::back_inserter(kept),
                 [&](std::int32_t place) { return std::find(leave.begin(), leave.end(), place) == leave.end(); });
    if (!kept.empty()) groups.push_back(std::move(kept));
  }
  std::vector<Order> orders;
  const auto add = [&](const std::vector<Order>& in) {
    Order order;
    for (const Order& group : in) order.insert(order.end(), group.begin(), group.end());
    orders.push_back(std::move(order));
  };
  if (groups.size() > kMostGroups) {
    add(groups);
    std::reverse(groups.begin(), groups.end());
    add(groups);
    return orders;
  }
  std::sort(groups.begin(), groups.end());
  do add(groups);
  while (std::next_permutation(groups.begin(), groups.end()));
  return orders;
}

}  // namespace

DeviceOrders device_orders(const LayerPrices& prices, std::int32_t length, std::size_t most) {
  const auto places = static_cast<std::int32_t>(prices.speed.size());
  bool alike = prices.near_is_better;
  for (std::int32_t place = 1; place < places; ++place) {
    alike = alike && make_of(prices, place) == make_of(prices, 0);
  }
  if (alike || prices.in_order) {
    Order natural(static_cast<std::size_t>(length));
    std::iota(natural.begin(), natural.end(), 0);
    return {{std::move(natural)}, true};
  }
  if (auto all = OrderSearch(prices, static_cast<std::size_t>(length), most).run()) return {*std::move(all), true};
  return {grouped_orders(prices, static_cast<std::size_t>(length)), false};
}

std::vector<std::vector<std::int32_t>> swapped_orders(const LayerPrices& prices,
                                                      const std::vector<std::int32_t>& order) {
  const auto kind = [&](std::int32_t place) {
    return std::pair(make_of(prices, place), prices.node[static_cast<std::size_t>(place)]);
  };
  const bool alike = prices.in_order || std::adjacent_find(prices.speed.begin(), prices.speed.end(),
                                                           std::not_equal_to<>()) == prices.speed.end();
  std::vector<Order> swapped;
  for (std::size_t a = 0; a < order.size() && !alike; ++a) {
    for (std::size_t b = a + 1; b < order.size(); ++b) {
      if (kind(order[a]) == kind(order[b])) continue;
      swapped.push_back(order);
      std::swap(swapped.back()[a], swapped.back()[b]);
    }
  }
  return swapped;
}

}  // namespace plumb
