#include "sim/plan_search/bounds/packing_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "sim/plan_search/bounds/folded_stages.hpp"
#include "sim/plan_search/bounds/packing.hpp"

namespace plumb {
namespace {

/// Sums over the first k layers, and what of it each kind of schedule cannot avoid.
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
        enough_(detail.enough),
        counted_(!detail.counts.empty()),
        turns_(layer_turns(prices, least_, microbatches, detail.counts)),
        begun_(first_gradient()),
        share_(counted_ ? 1 : computed_share()),
        early_(static_cast<double>(begun_) * (1 - share_)),
        late_(shown_at_the_end()) {}

  Ticks bound(bool copied) const {
    Ticks bound = packed(copied) + static_cast<Ticks>(std::floor(early_ + late_.lost));
    if (counted_) return bound;  // which passes come before the first gradient is not known
    for (const double per_byte : forwards_per_byte()) bound = std::max(bound, begun_ + packed_after(copied, per_byte));
    return bound;
  }

  /// Places of one speed whose first stages stand in their order, each at least a layer: what place k does begins after
  /// the forwards of k layers, and where backwards are in one, all but its updates ends before their backwards. The
  /// first layer is on the first place, the last one on the last (`last_is_first`: on the first, too). Others are seen
  /// as those that are at least so large. Of the time that a place waits for its first forward, what forwards would not
  /// have computed in it is lost before the first gradient anyway; and so of the time after its last backward, of what
  /// is lost after the last forward of all.
  Ticks ordered_bound(bool last_is_first) const {
    if (speed_.front() != speed_.back() || prices_.least.size() < 3) return 0;
    const Ticks with_updates = ordered_time(last_is_first, false);
    return only_fuses() ? std::max(with_updates, ordered_time(last_is_first, true)) : with_updates;
  }

  /// Two stages on each place, there and back; or copies in both directions, each of half of the microbatches, as is
  /// the mean of both places of a pair whatever each has.
  Ticks folded_bound(bool copied) const {
    if (speed_.front() != speed_.back() || (copied && places_ % 2 != 0)) return 0;
    const FoldedStages folded(prices_, least_, {turns_, microbatches_, copied ? 0.5 : 1.0, share_, late_.share});
    if (!folded.is_known()) return 0;
    const double hop = share_ * static_cast<double>(in_work(prices_.hop));
    const auto possible = [&](Ticks time) {
      const std::int32_t places = copied ? places_ / 2 : places_;
      return folded.covers(work_until(time, early_ + late_.lost), places, hop, copied ? places_ - 1 : 2 * places_ - 2);
    };
    const Ticks low = lowest(copied);
    return possible(low + 1) ? low : least_possible(low, enough_, possible);
  }

  /// Stages in order, one on each place.
  Ticks linear_bound() const {
    return least_possible(lowest(false), enough_, [&](Ticks time) { return covers(time); });
  }

 private:
  bool only_fuses() const { return kinds_.fuses && !kinds_.splits; }

  /// With what comes after the updates of places, or with what comes after their backwards.
  Ticks ordered_time(bool last_is_first, bool goes_back) const {
    const Ticks beside = kinds_.single ? 0 : prices_.place_update;  // other stages of the place may have all of it
    const Ticks last = least_.rounded(prices_.least.front().u + beside, 2);
    std::vector<Ticks> waits{goes_back ? last : static_cast<Ticks>(place_updates(false))};
    for (std::size_t place = 1; place < speed_.size(); ++place) {
      const LayerLeast& layer = prices_.least[place - 1];
      const Ticks before = least_.rounded(layer.alone.f, 1) + in_work(prices_.hop);
      const Ticks way = late_.lost > 0 ? layer.alone.b : least_.passes(layer).b;
      const Ticks behind = goes_back ? least_.rounded(way, 1) + in_work(prices_.hop) : 0;
      const double both = share_ * static_cast<double>(before) + late_.share * static_cast<double>(behind);
      waits.push_back(waits.back() + static_cast<Ticks>(std::floor(both)));
    }
    std::vector<Ticks> loads;
    for (std::size_t k = 0; k < turns_.size(); ++k) loads.push_back(goes_back ? passes_of(k) : load_of(k, false));
    waits.front() += loads.front();
    (last_is_first ? waits.front() : waits.back()) += loads.back();
    std::vector<Ticks> others(loads.begin() + 1, loads.end() - 1);
    std::sort(others.begin(), others.end(), std::greater<>());
    const auto possible = [&](Ticks time) {
      const double most = work_until(time, early_ + late_.lost);
      for (const Ticks wait : waits) {
        if (static_cast<double>(wait) > most) return false;
      }
      for (std::size_t k = 0; k < others.size(); ++k) {
        if (others[k] <= 0 || (k + 1 < others.size() && others[k + 1] == others[k])) continue;
        std::size_t slots = 0;
        for (const Ticks wait : waits) {
          slots += static_cast<std::size_t>((most - static_cast<double>(wait)) / static_cast<double>(others[k]));
        }
        if (slots < k + 1) return false;
      }
      return true;
    };
    return least_possible(lowest(false), enough_, possible);
  }

  /// What the fastest place computes in a step, of which so much is `lost`.
  double work_until(Ticks step, double lost) const {
    return (static_cast<double>(step) - lost) * speed_.front() * (1 + 1e-12) + 1;
  }

  /// A time that is not enough, or 0.
  Ticks lowest(bool copied) const { return std::max<Ticks>(0, packed(copied) - 1); }

  /// Work that the fastest place does meanwhile.
  Ticks in_work(Ticks time) const { return static_cast<Ticks>(std::floor(static_cast<double>(time) * speed_.front())); }

  /// Of a place, or of a pair of places, beside those of layers.
  double place_updates(bool copied) const {
    const Ticks each = least_.rounded(prices_.place_update, kinds_.per_place);
    return late_.share * static_cast<double>(each * (copied && places_ % 2 == 0 ? 2 : 1));
  }

  /// Copies of a layer on a pair of places; one may be all that there is where a place is its own pair.
  Ticks copies(bool copied) const { return copied && places_ % 2 == 0 ? 2 : 1; }

  /// All passes of a layer.
  Ticks passes_of(std::size_t layer) const { return least_.rounded(turns_[layer].both, 3 * microbatches_ + 1); }

  /// The same with its updates.
  Ticks load_of(std::size_t layer, bool copied) const {
    const auto updates = static_cast<double>(copies(copied) * prices_.least[layer].u);
    const Ticks load = turns_[layer].both + static_cast<Ticks>(std::floor(late_.share * updates));
    return least_.rounded(load, 3 * microbatches_ + copies(copied));
  }

  Ticks packed(bool copied) const {
    std::vector<Ticks> loads;
    for (std::size_t k = 0; k < turns_.size(); ++k) loads.push_back(load_of(k, copied));
    return packed_time(loads, bins(copied), -place_updates(copied));
  }

  /// What is left after the first gradient: of the forwards a place has done no more than `per_byte` of its memory, and
  /// all of those that take more for what they keep. Weights and state take of that memory.
  Ticks packed_after(bool copied, double per_byte) const {
    std::vector<Ticks> loads;
    for (std::size_t k = 0; k < turns_.size(); ++k) {
      const LayerLeast& layer = prices_.least[k];
      const auto kept = static_cast<Ticks>(std::floor(per_byte * static_cast<double>(layer.kept_bytes)));
      const auto held =
          static_cast<Ticks>(std::floor(per_byte * static_cast<double>(copies(copied) * layer.held_bytes)));
      const Ticks beyond = std::max<Ticks>(0, least_.passes(layer).f - kept);
      loads.push_back(std::max<Ticks>(0, load_of(k, copied) - microbatches_ * beyond) + held);
    }
    const double room = per_byte * static_cast<double>(copied ? 2 * room_bytes() : room_bytes());
    return packed_time(loads, bins(copied), room - place_updates(copied));
  }

  /// Pairs of places where copies run in both directions.
  std::vector<double> bins(bool copied) const {
    if (!copied) return speed_;
    std::vector<double> pairs(static_cast<std::size_t>(places_ / 2), 2 * speed_.front());
    if (places_ % 2 != 0) pairs.push_back(speed_.front());
    return pairs;
  }

  /// Of the roomiest place; 0: no limit.
  std::int64_t room_bytes() const {
    const auto& usable = prices_.usable_bytes;
    if (std::find(usable.begin(), usable.end(), 0) != usable.end()) return 0;
    return *std::max_element(usable.begin(), usable.end());
  }

  /// Times of forwards for a byte that they keep, any of which gives a bound; 0: they are done before the first
  /// gradient whatever they keep.
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

  /// A microbatch has to go through all layers, alone: the other half of a pair hides nothing before it has ended.
  Ticks first_gradient() const {
    Ticks forwards = 0;
    for (const LayerLeast& layer : prices_.least) forwards += least_.rounded(layer.alone.f, 1);
    return static_cast<Ticks>(std::floor(static_cast<double>(forwards) / speed_.front() * (1 - 1e-12))) +
           least_messages(prices_, places_, places_ - 1);
  }

  /// Of the time of a forward of any layer that is alone: the most of what it computes.
  double computed_share() const {
    if (!kinds_.overlaps) return 1;
    double most = 0;
    for (const LayerLeast& layer : prices_.least) {
      if (layer.paired.f <= 0) continue;
      if (layer.alone.f <= layer.paired.f) return 1;
      most = std::max(most, static_cast<double>(layer.paired.f) / static_cast<double>(layer.alone.f));
    }
    return std::min(1.0, most * (1 + 1e-9));
  }

  /// Of the end of a step, where nothing hides communication: what places compute of their time at most, and how much
  /// time each place loses by that.
  struct Shown {
    double share = 1;
    double lost = 0;
  };

  /// After the last forward of all, its microbatch's gradient has to go through all layers. Meanwhile there is nothing
  /// but backwards, whose communication nothing hides unless they are paired with each other. Those in one; halves
  /// might be weight gradients, which communicate nothing. Of a few layers that show less than others a place may have
  /// all backwards in that time; of the rest of it, it computes no more than the others do, but for updates: as many of
  /// these as may be in that time take from what is lost, so that only `share` of them counts.
  Shown shown_at_the_end() const {
    if (counted_ || !kinds_.overlaps || kinds_.hides_backwards || kinds_.splits) return {};
    constexpr std::size_t kMostApart = 4;
    std::vector<std::pair<double, Ticks>> shares;
    double way = 0;
    for (const LayerLeast& layer : prices_.least) {
      if (layer.alone.b <= 0) continue;
      way += static_cast<double>(least_.rounded(layer.alone.b, 1));
      const double share = static_cast<double>(layer.paired.b) / static_cast<double>(layer.alone.b) * (1 + 1e-9);
      shares.emplace_back(std::min(1.0, share), layer.alone.b + 1);
    }
    std::sort(shares.begin(), shares.end(), std::greater<>());
    const double slow = *std::min_element(prices_.speed.begin(), prices_.speed.end());
    Shown most;
    double apart = 0;
    for (std::size_t k = 0; k < std::min(kMostApart, shares.size()); ++k) {
      const double lost = (way / speed_.front() - apart / slow) * (1 - shares[k].first);
      if (lost > most.lost) most = {shares[k].first, lost};
      apart += static_cast<double>(microbatches_ * shares[k].second);
    }
    return most;
  }

  /// Whether as many stages as there are places, each as long as it can be, cover all layers: one that ends later
  /// leaves the others no more to do, since what waits for a layer once is no more than what it takes of its own stage.
  bool covers(Ticks time) const {
    const double speed = speed_.front();
    const auto most = static_cast<Ticks>(std::floor(static_cast<double>(time) * speed * (1 + 1e-12))) + 1;
    Ticks before = 0;
    Ticks behind = 0;
    std::size_t layer = 0;
    for (std::int32_t stage = 0; stage < places_ && layer < prices_.least.size(); ++stage) {
      Ticks work = least_.rounded(prices_.place_update, 1);
      Ticks inputs = 0;
      const Ticks waited = before + in_work(stage * prices_.hop);
      const Ticks goes_on = behind + in_work(stage * prices_.hop);
      for (; layer < prices_.least.size(); ++layer) {
        const LayerLeast& next = prices_.least[layer];
        const Ticks forward = least_.passes(next).f;
        work += load_of(layer, false);
        inputs += least_.rounded(microbatches_ * (forward + least_.input(next)), 2 * microbatches_);
        if (waited + std::max(work, inputs + goes_on) > most) break;
        before += least_.rounded(forward, 4);
        behind += least_.rounded(least_.input(next), 4);
      }
    }
    return layer == prices_.least.size();
  }

  const LayerPrices& prices_;
  const ScheduleKinds& kinds_;
  std::int64_t microbatches_;
  std::int32_t places_;
  std::vector<double> speed_;
  LeastPasses least_;
  Ticks enough_;
  bool counted_;                   ///< it is known how many passes are in pairs
  std::vector<LayerTurns> turns_;  ///< by layer
  Ticks begun_;                    ///< the first gradient, at the earliest
  double share_;                   ///< of the time before it: the most that forwards compute
  double early_;                   ///< time that is lost before it where nothing hides communication, and at the end
  Shown late_;
};

}  // namespace

Ticks packing_bound(const LayerPrices& prices, std::int32_t places, std::int64_t microbatches,
                    const ScheduleKinds& kinds, const PackingDetail& detail) {
  if (prices.least.empty() || kinds.sliced || kinds.other) return 0;
  const PackedLayers layers(prices, places, microbatches, kinds, detail);
  constexpr Ticks kNone = std::numeric_limits<Ticks>::max();
  Ticks bound = kNone;
  // Those that take longer to compute are left out where the first one is enough.
  const auto take = [&](bool copied, const auto& more) {
    const Ticks packed = layers.bound(copied);
    bound = std::min(bound, packed >= detail.enough ? packed : std::max(packed, more()));
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
