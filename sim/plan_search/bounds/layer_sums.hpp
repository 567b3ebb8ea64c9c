#pragma once

#include <cstdint>
#include <vector>

#include "sim/plan_search/prices/layer_prices.hpp"

namespace plumb {

/// Sums over the first k layers of stages that are the sums of their layers, and what messages take at least. Times are
/// work: ticks of a place of speed 1; what the fastest place does in a tick is `fast`.
class LayerSums {
 public:
  /// `prices` must outlive this, and have `times`.
  LayerSums(const LayerPrices& prices, std::int64_t microbatches);

  std::size_t layers() const { return forward.size() - 1; }

  /// Of messages of `bytes` one after another: all of it, and of that in the link.
  struct Message {
    Ticks all = 0;
    Ticks sending = 0;
  };
  /// The fastest that there is, or one between nodes.
  Message message(std::int64_t bytes, bool between_nodes) const;

  /// A ring over `holders` places by the fastest links that can join so many, or by one between nodes.
  Ticks reduction(std::int64_t bytes, std::int64_t holders, bool between_nodes = false) const;

  /// What the fastest place needs for `work`, all roundings of its parts in favour of it.
  Ticks in_time(Ticks work) const;

  std::vector<Ticks> forward, input, backward;  ///< input: the least that a gradient's way through takes
  std::vector<std::int64_t> held, kept, gradients;
  std::int64_t room_bytes = 0;  ///< of the roomiest place

 private:
  double hop(const Cluster::Network& links, double bytes) const;
  Ticks as_work(double ticks) const;

  const LayerPrices& prices_;
  std::int64_t microbatches_;
  double fast_ = 1;
};

/// The largest step known to be impossible, and the least known to be `possible`, up to a hundred-thousandth; from
/// `low` on, which is impossible or 0. An impossible `possible` above a thousand times `base`: none is known.
struct StepRange {
  Ticks impossible = 0;
  Ticks possible = 0;  ///< 0: none
};

template <class Possible>
StepRange least_step(Ticks base, Possible&& is_possible) {
  StepRange range{.impossible = 0, .possible = base < 1 ? 1 : base};
  for (int doubled = 0; !is_possible(range.possible); ++doubled) {
    range.impossible = range.possible;
    range.possible *= 2;
    if (doubled == 10) return {range.impossible, 0};
  }
  while (range.possible - range.impossible > 1 + range.possible / 100'000) {
    const Ticks middle = range.impossible + (range.possible - range.impossible) / 2;
    (is_possible(middle) ? range.possible : range.impossible) = middle;
  }
  return range;
}

}  // namespace plumb
