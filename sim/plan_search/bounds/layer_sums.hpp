#pragma once

#include <cstdint>
#include <vector>

#include "sim/plan_search/prices/layer_prices.hpp"

namespace plumb {

/// Sums over the first k layers, for stages that are the sums of their layers, and the least times of messages. Times
/// are work: ticks of a place of speed 1. The fastest place does its speed of it in a tick.
class LayerSums {
 public:
  /// `prices` must outlive this, and have `times`.
  LayerSums(const LayerPrices& prices, std::int64_t microbatches);

  std::size_t layers() const { return forward.size() - 1; }

  /// Time of a message.
  struct Message {
    Ticks all = 0;
    Ticks sending = 0;  ///< part of it in which the link is taken
  };
  /// Computes the least time of a message of `bytes`, on the fastest link there is or on one between nodes.
  Message message(std::int64_t bytes, bool between_nodes) const;

  /// Computes the time of a ring over `holders` places, by the fastest links that can join so many, or by one between
  /// nodes.
  Ticks reduction(std::int64_t bytes, std::int64_t holders, bool between_nodes = false) const;

  /// Computes the time that the fastest place needs for `work`, less what rounding of its parts may take.
  Ticks in_time(Ticks work) const;

  std::vector<Ticks> forward, input, backward;  ///< input: least time until the gradient goes on
  std::vector<std::int64_t> held, kept, gradients;
  std::int64_t room_bytes = 0;  ///< bytes on the roomiest place

 private:
  static double hop(const Cluster::Network& links, double bytes);
  Ticks as_work(double ticks) const;

  const LayerPrices& prices_;
  std::int64_t microbatches_;
  double fast_ = 1;
};

/// The largest step known to be impossible, and the least known to be possible.
struct StepRange {
  Ticks impossible = 0;
  Ticks possible = 0;  ///< 0: none is known
};

/// Finds the two by bisection, up to a hundred-thousandth; every step above a possible one must be possible. Looks no
/// further than a thousand times `base`.
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
