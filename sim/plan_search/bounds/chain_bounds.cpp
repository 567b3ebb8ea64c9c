#include "sim/plan_search/bounds/chain_bounds.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "sim/plan_search/bounds/layer_sums.hpp"

namespace plumb {
namespace {

/// What a layer takes of each resource, by what is done with its stash.
struct TradedLayer {
  double load = 0;        ///< t_k
  double again = 0;       ///< g_k
  double byte_ticks = 0;  ///< a_k l_k
  double bytes = 0;       ///< a_k
};

/// L of `traded_bound`: bytes per nanosecond that `places` places can move to their hosts together; 0: no link.
double host_rate(const LayerPrices& prices, std::int32_t places) {
  const HostLink& host = prices.host_link;
  const std::int32_t behind = std::max(1, host.devices_per_link);
  const auto nodes = static_cast<double>(prices.node.back() + 1);
  const double links = std::min<double>(places, nodes * ((prices.most_in_node + behind - 1) / behind));
  return links * host.bytes_per_s / 1e9;
}

/// Returns the bytes per nanosecond that the shared links of `nodes` nodes carry together; 0: no limit is known.
double bytes_per_ns(const LayerPrices& prices, const Cluster::Network& links, std::int32_t nodes) {
  if (!links.shared || !prices.links_are_modelled) return 0;
  const double fast = *std::max_element(prices.speed.begin(), prices.speed.end());
  const double each = links.shared_bytes_per_s > 0 ? links.shared_bytes_per_s : links.bytes_per_s;
  return nodes * each / 1e9 / fast;
}

/// The statements of `cuts_bound`.
class Cuts {
 public:
  Cuts(const LayerPrices& prices, std::int32_t places, std::int64_t microbatches, StagePlacing placing)
      : sums_(prices, microbatches),
        places_(static_cast<std::size_t>(places)),
        in_node_(static_cast<std::size_t>(std::min(places, prices.most_in_node))),
        turns_(placing == StagePlacing::kCopied ? (microbatches + 1) / 2 : microbatches),
        linear_(placing == StagePlacing::kLinear) {
    for (std::size_t k = 0; k <= sums_.layers(); ++k) {
      const bool is_cut = k > 0 && k < sums_.layers();
      down_bytes_.push_back(is_cut ? prices.memory[k - 1].output_bytes : 0);
      for (const bool far : {false, true}) {
        const LayerSums::Message down = is_cut ? sums_.message(prices.memory[k - 1].output_bytes, far) : Message{};
        const LayerSums::Message up = is_cut ? sums_.message(prices.memory[k].input_grad_bytes, far) : Message{};
        through_[far ? 1 : 0].push_back(sums_.forward[k] + turns_ * std::max(down.sending, up.sending));
        if (!far) down_.push_back(down.all);
        if (!far) up_.push_back(up.all);
      }
    }
    const std::int32_t nodes = std::min(places, prices.node.back() + 1);
    shared_ = {bytes_per_ns(prices, prices.near, nodes), bytes_per_ns(prices, prices.far, nodes)};
    for (std::size_t k = 1; k < sums_.layers(); ++k) {
      both_ways_.push_back(microbatches * (prices.memory[k - 1].output_bytes + prices.memory[k].input_grad_bytes));
    }
    std::sort(both_ways_.begin(), both_ways_.end());
    both_ways_.insert(both_ways_.begin(), 0);
    std::partial_sum(both_ways_.begin(), both_ways_.end(), both_ways_.begin());
  }

  Ticks run() {
    const Ticks base = sums_.forward.back() + sums_.backward.back();
    return sums_.in_time(least_step(base, [&](Ticks step) { return possible(step); }).impossible);
  }

 private:
  using Message = LayerSums::Message;

  /// Statement 1.
  bool is_open(std::size_t cut, bool far, Ticks step) const { return through_[far ? 1 : 0][cut] <= step; }

  Ticks work(std::size_t begin, std::size_t end) const {
    return turns_ * (sums_.forward[end] - sums_.forward[begin] + sums_.backward[end] - sums_.backward[begin]);
  }

  /// Statement 2: whether one place can have the layers [begin, end): as a whole stage with its messages, or as part
  /// of its stages.
  bool holds(std::size_t begin, std::size_t end, bool is_stage, Ticks step) const {
    const auto part = [&](const std::vector<std::int64_t>& sums) { return sums[end] - sums[begin]; };
    const std::int64_t messages = is_stage ? down_bytes_[begin] + down_bytes_[end] : 0;
    if (part(sums_.held) + (linear_ ? part(sums_.kept) : 0) + messages > sums_.room_bytes) return false;
    const Ticks inputs = turns_ * (part(sums_.forward) + part(sums_.input)) + sums_.input[begin];
    const Ticks before = sums_.forward[begin] + (is_stage ? down_[begin] : 0);
    return before + std::max(work(begin, end), inputs + (is_stage ? up_[begin] : 0)) <= step;
  }

  /// Returns whether no statement refutes `step`.
  bool possible(Ticks step) {
    std::size_t near_runs = 0;
    std::size_t far_runs = 0;
    std::size_t near_begin = 0;
    std::size_t far_begin = 0;
    for (std::size_t k = 1; k <= sums_.layers(); ++k) {
      const bool is_end = k == sums_.layers();
      if (is_end || is_open(k, false, step)) {
        if (!holds(near_begin, k, false, step)) return false;
        near_begin = k;
        ++near_runs;
      }
      if (is_end || is_open(k, true, step)) {
        if (work(far_begin, k) > step * static_cast<Ticks>(in_node_)) return false;
        far_begin = k;
        ++far_runs;
      }
    }
    if (near_runs < places_ || far_runs < nodes() || !carries(step)) return false;
    return !linear_ || covers(step);
  }

  /// Statement 4.
  bool carries(Ticks step) const {
    const auto fits = [&](std::size_t cuts, double rate) {
      const double bytes = static_cast<double>(both_ways_[std::min(cuts, both_ways_.size() - 1)]);
      return rate == 0 || bytes * (1 - 1e-9) <= rate * static_cast<double>(step);
    };
    for (std::size_t far = nodes() - 1; far < places_; ++far) {
      if (fits(far, shared_[1]) && fits(places_ - 1 - far, shared_[0])) return true;
    }
    return false;
  }

  /// Nodes that so many places need.
  std::size_t nodes() const { return (places_ + in_node_ - 1) / in_node_; }

  /// Statement 5, by a dynamic program over the stages.
  bool covers(Ticks step) const {
    constexpr std::int32_t kNone = -1;
    const std::size_t layers = sums_.layers();
    // Most cuts that may be between nodes, by the number of layers that are covered.
    std::vector<std::int32_t> cuts(layers + 1, kNone);
    cuts[0] = 0;
    for (std::size_t stage = 0; stage < places_; ++stage) {
      std::vector<std::int32_t> more(layers + 1, kNone);
      for (std::size_t begin = 0; begin < layers; ++begin) {
        if (cuts[begin] == kNone) continue;
        // More layers only need more, but for the messages at their end.
        for (std::size_t end = begin + 1; end <= layers && holds(begin, end, false, step); ++end) {
          if (!holds(begin, end, true, step) || (end < layers && !is_open(end, false, step))) continue;
          const std::int32_t open = end < layers && is_open(end, true, step) ? 1 : 0;
          more[end] = std::max(more[end], cuts[begin] + open);
        }
      }
      cuts = std::move(more);
    }
    return cuts[layers] + 1 >= static_cast<std::int32_t>(nodes());
  }

  LayerSums sums_;
  std::size_t places_;
  std::size_t in_node_;
  std::int64_t turns_;  ///< n: microbatches that one place is sure to have
  bool linear_;
  std::array<std::vector<Ticks>, 2> through_;  ///< earliest end of all messages, by cut: inside a node, between nodes
  std::array<double, 2> shared_{};        ///< bytes per nanosecond of all nodes' links inside, and between; 0: no limit
  std::vector<std::int64_t> both_ways_;   ///< bytes of all messages of the k cuts with the least
  std::vector<std::int64_t> down_bytes_;  ///< bytes of a forward's message, by cut
  std::vector<Ticks> down_;               ///< least time of a forward's message, by cut
  std::vector<Ticks> up_;                 ///< least time of a gradient's message, by cut
};

}  // namespace

Ticks traded_bound(const LayerPrices& prices, std::int32_t places, std::int64_t microbatches) {
  if (prices.times.empty()) return 0;
  const LayerSums sums(prices, microbatches);
  const std::size_t layers = sums.layers();
  std::vector<TradedLayer> traded;
  double stashes = 0;
  for (std::size_t k = 0; k < layers; ++k) {
    const StageTimes& times = prices.times[k];
    const Ticks life = sums.forward.back() - sums.forward[k] + sums.input.back() - sums.input[k];
    const auto bytes = static_cast<double>(prices.kept_bytes[k]);
    traded.push_back({.load = static_cast<double>(times.f + least_backward(times)),
                      .again = static_cast<double>(std::min(times.f, times.r)),
                      .byte_ticks = bytes * static_cast<double>(life),
                      .bytes = bytes});
    stashes += traded.back().byte_ticks;
  }
  const bool limited = std::ranges::find(prices.usable_bytes, 0) == prices.usable_bytes.end() && stashes > 0;
  const std::vector<std::int64_t> usable = largest_of(prices.usable_bytes, static_cast<std::size_t>(places));
  const auto room = static_cast<double>(std::accumulate(usable.begin(), usable.end(), -prices.whole_held_bytes));
  const double fast = *std::max_element(prices.speed.begin(), prices.speed.end());
  const double host = host_rate(prices, places) / fast;
  const double whole = static_cast<double>(sums.forward.back() + sums.backward.back());
  double best = whole / places;
  constexpr int kSteps = 24;
  for (int b = 0; limited && room > 0 && b < kSteps; ++b) {
    // Prices under which x P + y R + z L = 1: the room has b of kSteps parts of it, and the links c.
    for (int c = 0; c + b < kSteps && (c == 0 || host > 0); ++c) {
      const double price_room = static_cast<double>(b) / kSteps / room;
      const double price_link = host > 0 ? static_cast<double>(c) / kSteps / host : 0;
      const double price_place = static_cast<double>(kSteps - b - c) / kSteps / places;
      double spent = 0;
      for (const TradedLayer& layer : traded) {
        const double moved = price_link * layer.bytes;
        spent += price_place * layer.load + std::min({price_place * layer.again, price_room * layer.byte_ticks, moved});
      }
      best = std::max(best, spent);
    }
  }
  return sums.in_time(static_cast<Ticks>(std::floor(best * static_cast<double>(microbatches) * (1 - 1e-9))));
}

Ticks cuts_bound(const LayerPrices& prices, std::int32_t places, std::int64_t microbatches, StagePlacing placing) {
  if (prices.times.empty()) return 0;
  return Cuts(prices, places, microbatches, placing).run();
}

}  // namespace plumb
