#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/plan_search/bounds/pass_counts.hpp"
#include "sim/plan_search/bounds/plan_bounds.hpp"
#include "sim/plan_search/prices/layer_prices.hpp"

namespace plumb {

/// Two stages of every place, of which the first are further and further from the beginning of the network and the
/// second from its end; or of every pair of places whose copies run in both directions. Places are of one speed. Times
/// are work.
class FoldedStages {
 public:
  /// Places have `part` of the passes `turns`, by layer, of `microbatches`. Of the time before a first forward only
  /// `share` counts: as much as it takes from what the place computes. Of updates only `updates` does.
  struct Passes {
    std::span<const LayerTurns> turns{};
    std::int64_t microbatches = 1;
    double part = 1;
    double share = 1;
    double updates = 1;
  };
  FoldedStages(const LayerPrices& prices, const LeastPasses& least, const Passes& passes);

  /// More of a second stage may take less of a microbatch's way than the forwards of it: nothing is proved then.
  bool is_known() const { return is_known_; }

  /// Whether so many places, or pairs, cover all layers within `most`, when `hop` of a message counts and a microbatch
  /// needs so many `hops` to the second stage of the first place: those that have any number of first layers had best
  /// have as many last ones as they can.
  bool covers(double most, std::int32_t places, double hop, std::int32_t hops) const;

 private:
  /// A place before it has any of the layers [first, end), and what time it has for them: from its first forward on,
  /// and beside one microbatch's forwards before its second stage.
  struct Place {
    std::size_t first = 0;
    std::size_t end = 0;
    double begins = 0;
    double turns = 0;
  };

  bool has_time(const Place& at, std::size_t front, std::size_t back) const;
  /// All that the place may have of the first layers, each with the most of the last; whether nothing is left then.
  bool add_stages(const Place& at, std::vector<std::ptrdiff_t>& more) const;

  std::size_t layers_;
  std::vector<double> alone_;    ///< sums over the first k layers: of one forward, what counts
  std::vector<double> forward_;  ///< all forwards, and so on
  std::vector<double> backward_;
  std::vector<double> update_;
  double place_update_ = 0;
  bool is_known_ = true;
};

}  // namespace plumb
