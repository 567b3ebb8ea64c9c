#include "sim/plan_search/bounds/packing_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "sim/plan_search/bounds/packing.hpp"

namespace plumb {
namespace {

/// Statement 7: whether two stages on each place, or on each pair of places, can cover all layers in a given time.
///
/// Place j takes layers [first, front) behind those of the places before it, and layers [back, end) before those that
/// such places have at the network's end. A dynamic program over the places keeps, for each number of first layers that
/// are covered, the most last layers that can be covered with them. That is enough: with more of the network covered,
/// no later place has more to do or waits longer. Times are work.
class FoldedStages {
 public:
  /// What is counted of the layers.
  struct Counted {
    std::span<const LayerWork> work{};  ///< all passes, by layer
    std::int64_t microbatches = 1;
    double pass_share = 1;    ///< part of all passes that a place has
    double wait_share = 1;    ///< part of the time before a first forward that counts (statement 4)
    double update_share = 1;  ///< part of updates that counts (statement 5)
  };
  FoldedStages(const LayerPrices& prices, const LeastPasses& least, const Counted& counted);

  /// Returns whether a larger second stage always needs more time after the forwards before it. Otherwise nothing is
  /// proved: to give a place fewer layers than fit could then be better.
  bool is_monotonic() const { return is_monotonic_; }

  /// Returns whether `places` places (or pairs) cover all layers within `most` when a message takes `hop` and a
  /// microbatch needs `hops` of them to the second stage of the first place.
  bool covers(double most, std::int32_t places, double hop, std::int32_t hops) const;

 private:
  /// A place that can have any of the layers [first, end).
  struct Place {
    std::size_t first = 0;
    std::size_t end = 0;
    double after_first = 0;   ///< time from its first forward on
    double after_second = 0;  ///< time beside the messages to its second stage, and the forwards before that one
  };

  bool has_time(const Place& at, std::size_t front, std::size_t back) const;
  /// Raises `covered` to what is covered with each number of first layers that the place may take. Returns whether all
  /// layers are.
  bool add_place(const Place& at, std::vector<std::ptrdiff_t>& covered) const;

  std::size_t layers_;
  // Sums over the first k layers:
  std::vector<double> way_;  ///< one microbatch's forwards, as far as they count
  std::vector<double> forward_;
  std::vector<double> backward_;
  std::vector<double> update_;
  double place_update_ = 0;
  bool is_monotonic_ = true;
};

FoldedStages::FoldedStages(const LayerPrices& prices, const LeastPasses& least, const Counted& counted)
    : layers_(prices.least.size()) {
  for (auto* sums : {&way_, &forward_, &backward_, &update_}) sums->assign(1, 0);
  const std::int64_t m = counted.microbatches;
  for (std::size_t k = 0; k < layers_; ++k) {
    const LayerLeast& layer = prices.least[k];
    const auto add = [](std::vector<double>& sums, double more) { sums.push_back(sums.back() + more); };
    const double forward = counted.pass_share * static_cast<double>(least.rounded(counted.work[k].forward, m));
    add(way_, counted.wait_share * static_cast<double>(least.rounded(layer.alone.f, 1)));
    add(forward_, forward);
    add(backward_, counted.pass_share * static_cast<double>(least.rounded(counted.work[k].backward, 2 * m)));
    add(update_, counted.update_share * static_cast<double>(least.rounded(layer.u, 1)));
    // One layer more in a second stage: its forwards join the stage, and one leaves the way to it.
    is_monotonic_ = is_monotonic_ && forward >= static_cast<double>(layer.alone.f);
  }
  place_update_ = counted.update_share * static_cast<double>(least.rounded(prices.place_update, 2));
}

bool FoldedStages::covers(double most, std::int32_t places, double hop, std::int32_t hops) const {
  std::vector<std::ptrdiff_t> last(layers_ + 1, -1);  // most last layers by number of first layers; -1: not possible
  last[0] = 0;
  for (std::int32_t place = 0; place < places; ++place) {
    std::vector<std::ptrdiff_t> covered(layers_ + 1, -1);
    for (std::size_t first = 0; first <= layers_; ++first) {
      if (last[first] < 0) continue;
      Place at{.first = first, .end = layers_ - static_cast<std::size_t>(last[first])};
      at.after_first = most - place_update_ - way_[first] - place * hop;
      at.after_second = most - place_update_ - (hops - place) * hop;
      if (add_place(at, covered)) return true;
    }
    last = std::move(covered);
  }
  return false;
}

bool FoldedStages::has_time(const Place& at, std::size_t front, std::size_t back) const {
  const auto both = [&](const std::vector<double>& sums) {
    return sums[front] - sums[at.first] + sums[at.end] - sums[back];
  };
  const double after_gradient = both(backward_) + both(update_);
  return both(forward_) + after_gradient <= at.after_first &&
         way_[back] + forward_[at.end] - forward_[back] + after_gradient <= at.after_second;
}

bool FoldedStages::add_place(const Place& at, std::vector<std::ptrdiff_t>& covered) const {
  // With no first stage, the longest second one by bisection; with each further layer of a first one, it gets shorter.
  std::size_t back = at.first;
  for (std::size_t end = at.end; back < end;) {
    const std::size_t middle = back + (end - back) / 2;
    if (has_time(at, at.first, middle)) {
      end = middle;
    } else {
      back = middle + 1;
    }
  }
  for (std::size_t front = at.first; front <= at.end; ++front) {
    back = std::max(back, front);
    while (back < at.end && !has_time(at, front, back)) ++back;
    if (back == at.end && !has_time(at, front, back)) return false;
    covered[front] = std::max(covered[front], static_cast<std::ptrdiff_t>(layers_ - back));
    if (back <= front) return true;
  }
  return true;
}

/// The statements of `packing_bound`, by whether stages have copies in both directions (`copied`).
class PackedLayers {
 public:
  PackedLayers(const LayerPrices& prices, std::int32_t places, std::int64_t microbatches, const ScheduleKinds& kinds,
               const PackingDetail& detail)
      : prices_(prices),
        kinds_(kinds),
        microbatches_(microbatches),
        places_(places),
        speed_(largest_of(prices.speed, static_cast<std::size_t>(places))),
        least_(kinds, speed_),
        sufficient_(detail.sufficient),
        pairs_are_known_(!detail.counts.empty()),
        work_(layer_work(prices, least_, microbatches, detail.counts)),
        first_gradient_(first_gradient()),
        share_before_gradient_(pairs_are_known_ ? 1 : share_in_forwards()),
        lost_before_gradient_(static_cast<double>(first_gradient_) * (1 - share_before_gradient_)),
        at_end_(loss_at_end()) {}

  /// Statements 1 to 5.
  Ticks bound(bool copied) const {
    Ticks bound = packed(copied) + static_cast<Ticks>(std::floor(lost_ticks()));
    if (pairs_are_known_) return bound;  // which passes come before the first gradient is not known
    for (const double per_byte : forwards_per_byte()) {
      bound = std::max(bound, first_gradient_ + packed_after_gradient(copied, per_byte));
    }
    return bound;
  }

  /// Statement 6; `last_is_first`: the last layer is on the first place.
  Ticks ordered_bound(bool last_is_first) const {
    if (speed_.front() != speed_.back() || prices_.least.size() < 3) return 0;
    const Ticks with_updates = ordered_time(last_is_first, false);
    return only_fuses() ? std::max(with_updates, ordered_time(last_is_first, true)) : with_updates;
  }

  /// Statement 7.
  Ticks folded_bound(bool copied) const {
    if (speed_.front() != speed_.back() || (copied && places_ % 2 != 0)) return 0;
    const FoldedStages folded(prices_, least_,
                              {.work = work_,
                               .microbatches = microbatches_,
                               .pass_share = copied ? 0.5 : 1.0,
                               .wait_share = share_before_gradient_,
                               .update_share = at_end_.share});
    if (!folded.is_monotonic()) return 0;
    const double hop = share_before_gradient_ * static_cast<double>(in_work(prices_.hop));
    const auto possible = [&](Ticks time) {
      const std::int32_t places = copied ? places_ / 2 : places_;
      return folded.covers(work_until(time, lost_ticks()), places, hop, copied ? places_ - 1 : 2 * places_ - 2);
    };
    const Ticks low = lowest(copied);
    return possible(low + 1) ? low : least_possible(low, sufficient_, possible);
  }

  /// Statement 8.
  Ticks linear_bound() const {
    return least_possible(lowest(false), sufficient_, [&](Ticks time) { return covers_in_line(time); });
  }

 private:
  /// What places lose at the end of a step, where nothing hides communication (statement 5).
  struct EndLoss {
    double share = 1;  ///< q_j: the part of their time in which places compute, and of updates that counts
    double ticks = 0;  ///< what each place loses
  };

  bool only_fuses() const { return kinds_.fuses && !kinds_.splits; }

  /// Returns what every place loses by statements 4 and 5.
  double lost_ticks() const { return lost_before_gradient_ + at_end_.ticks; }

  /// Idle work of every place by statement 6: before its first pass, and also after its last one if `goes_back`.
  /// Updates that count in no load are included.
  std::vector<Ticks> ordered_waits(bool goes_back) const {
    // With several stages on a place, another one may have all of the update beside layers.
    const Ticks beside_layers = kinds_.single ? 0 : prices_.place_update;
    const Ticks last_update = least_.rounded(prices_.least.front().u + beside_layers, 2);
    std::vector<Ticks> waits{goes_back ? last_update : static_cast<Ticks>(place_updates(false))};
    for (std::size_t place = 1; place < speed_.size(); ++place) {
      const LayerLeast& layer = prices_.least[place - 1];
      const Ticks before = least_.rounded(layer.alone.f, 1) + in_work(prices_.hop);
      const Ticks backward = at_end_.ticks > 0 ? layer.alone.b : least_.passes(layer).b;
      const Ticks after = goes_back ? least_.rounded(backward, 1) + in_work(prices_.hop) : 0;
      const double both =
          share_before_gradient_ * static_cast<double>(before) + at_end_.share * static_cast<double>(after);
      waits.push_back(waits.back() + static_cast<Ticks>(std::floor(both)));
    }
    return waits;
  }

  /// Statement 6 with the idle time of `ordered_waits`. If `goes_back`, the update of the first layer stands for all.
  Ticks ordered_time(bool last_is_first, bool goes_back) const {
    std::vector<Ticks> loads;
    for (std::size_t k = 0; k < work_.size(); ++k) loads.push_back(goes_back ? passes_of(k) : load_of(k, false));
    std::vector<Ticks> taken = ordered_waits(goes_back);  // by place; with the layers whose place is known
    taken.front() += loads.front();
    (last_is_first ? taken.front() : taken.back()) += loads.back();
    std::vector<Ticks> others(loads.begin() + 1, loads.end() - 1);
    std::sort(others.begin(), others.end(), std::greater<>());
    const auto possible = [&](Ticks time) {
      const double most = work_until(time, lost_ticks());
      for (const Ticks work : taken) {
        if (static_cast<double>(work) > most) return false;
      }
      // The k + 1 largest need as many slots of the size of the smallest of them.
      for (std::size_t k = 0; k < others.size(); ++k) {
        if (others[k] <= 0 || (k + 1 < others.size() && others[k + 1] == others[k])) continue;
        std::size_t slots = 0;
        for (const Ticks work : taken) {
          slots += static_cast<std::size_t>((most - static_cast<double>(work)) / static_cast<double>(others[k]));
        }
        if (slots < k + 1) return false;
      }
      return true;
    };
    return least_possible(lowest(false), sufficient_, possible);
  }

  /// Returns the work that the fastest place can do in a step, `lost` ticks aside; a little more than doubles may be
  /// off.
  double work_until(Ticks step, double lost) const {
    return (static_cast<double>(step) - lost) * speed_.front() * (1 + 1e-12) + 1;
  }

  /// Returns a step that is known to be impossible, or 0.
  Ticks lowest(bool copied) const { return std::max<Ticks>(0, packed(copied) - 1); }

  /// Returns the work that the fastest place can do in `time`.
  Ticks in_work(Ticks time) const { return static_cast<Ticks>(std::floor(static_cast<double>(time) * speed_.front())); }

  /// Update of a place, or of a pair of places, beside that of layers.
  double place_updates(bool copied) const {
    const Ticks each = least_.rounded(prices_.place_update, kinds_.per_place);
    return at_end_.share * static_cast<double>(each * copies(copied));
  }

  /// Returns the updates of a layer in a bin. With an odd number of places the middle one is its own pair and may hold
  /// one copy.
  Ticks copies(bool copied) const { return copied && places_ % 2 == 0 ? 2 : 1; }

  /// Returns all passes of a layer.
  Ticks passes_of(std::size_t layer) const { return least_.rounded(work_[layer].both, 3 * microbatches_ + 1); }

  /// Returns all passes and updates of a layer.
  Ticks load_of(std::size_t layer, bool copied) const {
    const auto updates = static_cast<double>(copies(copied) * prices_.least[layer].u);
    const Ticks load = work_[layer].both + static_cast<Ticks>(std::floor(at_end_.share * updates));
    return least_.rounded(load, 3 * microbatches_ + copies(copied));
  }

  /// Statement 1.
  Ticks packed(bool copied) const {
    std::vector<Ticks> loads;
    for (std::size_t k = 0; k < work_.size(); ++k) loads.push_back(load_of(k, copied));
    return packed_time(loads, bins(copied), -place_updates(copied));
  }

  /// Statement 3 for r = `per_byte`: the least time from the first gradient to the end of the step.
  Ticks packed_after_gradient(bool copied, double per_byte) const {
    std::vector<Ticks> loads;
    for (std::size_t k = 0; k < work_.size(); ++k) {
      const LayerLeast& layer = prices_.least[k];
      const auto paid = static_cast<Ticks>(std::floor(per_byte * static_cast<double>(layer.kept_bytes)));
      const auto held =
          static_cast<Ticks>(std::floor(per_byte * static_cast<double>(copies(copied) * layer.held_bytes)));
      const Ticks unpaid = std::max<Ticks>(0, least_.passes(layer).f - paid);
      loads.push_back(std::max<Ticks>(0, load_of(k, copied) - microbatches_ * unpaid) + held);
    }
    const double room = per_byte * static_cast<double>(copied ? 2 * room_bytes() : room_bytes());
    return packed_time(loads, bins(copied), room - place_updates(copied));
  }

  /// Speeds of the bins: places, or pairs of places where copies run in both directions.
  std::vector<double> bins(bool copied) const {
    if (!copied) return speed_;
    std::vector<double> pairs(static_cast<std::size_t>(places_ / 2), 2 * speed_.front());
    if (places_ % 2 != 0) pairs.push_back(speed_.front());
    return pairs;
  }

  /// Returns the bytes on the roomiest place; 0: no limit.
  std::int64_t room_bytes() const {
    const auto& usable = prices_.usable_bytes;
    if (std::find(usable.begin(), usable.end(), 0) != usable.end()) return 0;
    return *std::max_element(usable.begin(), usable.end());
  }

  /// Returns the r of statement 3 that are tried: 0, and the ratios f_k / a_k of a few layers, at which a max changes.
  std::vector<double> forwards_per_byte() const {
    std::vector<double> ratios{0};
    if (kinds_.moves || !prices_.again_takes_all || room_bytes() == 0) return ratios;
    constexpr std::size_t kMost = 4;
    for (const LayerLeast& layer : prices_.least) {
      if (layer.kept_bytes <= 0 || least_.passes(layer).f <= 0) continue;
      const double ratio = static_cast<double>(least_.passes(layer).f) / static_cast<double>(layer.kept_bytes);
      if (std::ranges::find(ratios, ratio) == ratios.end()) ratios.push_back(ratio);
      if (ratios.size() == kMost) break;
    }
    return ratios;
  }

  /// G of statement 2.
  Ticks first_gradient() const {
    Ticks forwards = 0;
    for (const LayerLeast& layer : prices_.least) forwards += least_.rounded(layer.alone.f, 1);
    return static_cast<Ticks>(std::floor(static_cast<double>(forwards) / speed_.front() * (1 - 1e-12))) +
           least_messages(prices_, places_, places_ - 1);
  }

  /// q of statement 4: the largest part of a forward alone that is left in a pair.
  double share_in_forwards() const {
    if (!kinds_.overlaps) return 1;
    double most = 0;
    for (const LayerLeast& layer : prices_.least) {
      if (layer.paired.f <= 0) continue;
      if (layer.alone.f <= layer.paired.f) return 1;
      most = std::max(most, static_cast<double>(layer.paired.f) / static_cast<double>(layer.alone.f));
    }
    return std::min(1.0, most * (1 + 1e-9));
  }

  /// Statement 5, with the j of the first few by which places lose most.
  EndLoss loss_at_end() const {
    if (pairs_are_known_ || !kinds_.overlaps || kinds_.hides_backwards || kinds_.splits) return {};
    constexpr std::size_t kMostApart = 4;
    std::vector<std::pair<double, Ticks>> shares;  // b_k / b'_k, and b'_k, by layer
    double way = 0;
    for (const LayerLeast& layer : prices_.least) {
      if (layer.alone.b <= 0) continue;
      way += static_cast<double>(least_.rounded(layer.alone.b, 1));
      const double share = static_cast<double>(layer.paired.b) / static_cast<double>(layer.alone.b) * (1 + 1e-9);
      shares.emplace_back(std::min(1.0, share), layer.alone.b + 1);
    }
    std::sort(shares.begin(), shares.end(), std::greater<>());
    const double slow = *std::min_element(prices_.speed.begin(), prices_.speed.end());
    EndLoss most;
    double apart = 0;  // A_j, as work
    for (std::size_t j = 0; j < std::min(kMostApart, shares.size()); ++j) {
      const double ticks = (way / speed_.front() - apart / slow) * (1 - shares[j].first);
      if (ticks > most.ticks) most = {shares[j].first, ticks};
      apart += static_cast<double>(microbatches_ * shares[j].second);
    }
    return most;
  }

  /// Statement 8. Each stage takes as many layers as it has time for: a layer less would leave more to the next stage,
  /// which waits for a layer once and would run all its passes. So if this covers no more, no cut does.
  bool covers_in_line(Ticks time) const {
    const double speed = speed_.front();
    const auto most = static_cast<Ticks>(std::floor(static_cast<double>(time) * speed * (1 + 1e-12))) + 1;
    Ticks forwards = 0;  // one microbatch's, through the layers before the stage
    Ticks inputs = 0;    // its input gradients, back through them
    std::size_t layer = 0;
    for (std::int32_t stage = 0; stage < places_ && layer < prices_.least.size(); ++stage) {
      const Ticks begins = forwards + in_work(stage * prices_.hop);
      const Ticks goes_on = inputs + in_work(stage * prices_.hop);
      Ticks work = least_.rounded(prices_.place_update, 1);
      Ticks until_gradient = 0;  // the stage's own forwards and input gradients
      for (; layer < prices_.least.size(); ++layer) {
        const LayerLeast& next = prices_.least[layer];
        const Ticks forward = least_.passes(next).f;
        work += load_of(layer, false);
        until_gradient += least_.rounded(microbatches_ * (forward + least_.input(next)), 2 * microbatches_);
        if (begins + std::max(work, until_gradient + goes_on) > most) break;
        forwards += least_.rounded(forward, 4);
        inputs += least_.rounded(least_.input(next), 4);
      }
    }
    return layer == prices_.least.size();
  }

  const LayerPrices& prices_;
  const ScheduleKinds& kinds_;
  std::int64_t microbatches_;
  std::int32_t places_;
  std::vector<double> speed_;  ///< speeds of the fastest places, fastest first
  LeastPasses least_;
  Ticks sufficient_;
  bool pairs_are_known_;          ///< whether it is known how many passes are in pairs
  std::vector<LayerWork> work_;   ///< N_k, by layer
  Ticks first_gradient_;          ///< G
  double share_before_gradient_;  ///< q: the part of the time before G in which forwards compute
  double lost_before_gradient_;   ///< (1 - q) G
  EndLoss at_end_;
};

}  // namespace

Ticks packing_bound(const LayerPrices& prices, std::int32_t places, std::int64_t microbatches,
                    const ScheduleKinds& kinds, const PackingDetail& detail) {
  if (prices.least.empty() || kinds.sliced || kinds.other) return 0;
  const PackedLayers layers(prices, places, microbatches, kinds, detail);
  constexpr Ticks kNone = std::numeric_limits<Ticks>::max();
  Ticks bound = kNone;
  // The statements that take longer to compute are left out where the first ones give enough.
  const auto take = [&](bool copied, const auto& more) {
    const Ticks packed = layers.bound(copied);
    bound = std::min(bound, packed >= detail.sufficient ? packed : std::max(packed, more()));
  };
  if (kinds.copied) take(true, [&] { return layers.folded_bound(true); });
  if (kinds.looped) take(false, [&] { return layers.ordered_bound(false); });
  if (kinds.turned) {
    take(false, [&] {
      return kinds.deep ? std::min(layers.ordered_bound(true), layers.ordered_bound(false))
                        : std::max(layers.ordered_bound(true), layers.folded_bound(false));
    });
  }
  if (kinds.linear) take(false, [&] { return std::max(layers.linear_bound(), layers.ordered_bound(false)); });
  return bound == kNone ? 0 : bound;
}

}  // namespace plumb
