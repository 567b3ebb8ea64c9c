#include "sim/plan_search/packing_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

namespace plumb {
namespace {

/// More other loads than these are not tried in all ways.
constexpr std::size_t kMostOthers = 4;

/// What is put into bins: `count` loads of `each`, and others.
class Packing {
 public:
  Packing(std::span<const Ticks> loads, std::span<const double> rates, double at_once)
      : rates_(rates), at_once_(at_once) {
    for (const double rate : rates) {
      if (counts_.empty() || counts_.back().first != rate) counts_.emplace_back(rate, 0);
      ++counts_.back().second;
    }
    std::map<Ticks, std::int64_t, std::greater<>> counts;
    for (const Ticks load : loads) {
      if (load > 0) ++counts[load];
    }
    all_ = std::accumulate(loads.begin(), loads.end(), 0.0);
    const auto most = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == counts.end()) return;
    each_ = most->first;
    count_ = most->second;
    std::int64_t larger = 0;
    for (const auto& [load, count] : counts) {
      larger += count;
      at_least_.emplace_back(load, larger);
      for (std::int64_t k = 0; load != each_ && k < count; ++k) others_.push_back(static_cast<double>(load));
    }
    const bool alike = std::adjacent_find(rates.begin(), rates.end(), std::not_equal_to<>()) == rates.end();
    tries_others_ = alike && others_.size() <= kMostOthers;
  }

  /// A time that is not enough, or 0.
  Ticks least() const {
    double rates = 0;
    double at_once = 0;
    for (const auto& [rate, count] : counts_) {
      rates += rate * static_cast<double>(count);
      at_once += at_once_ * static_cast<double>(count);
    }
    const double time = (all_ * (1 - 1e-9) - at_once * (1 + 1e-9)) / rates - 1;
    return time > 0 ? static_cast<Ticks>(std::floor(time)) : 0;
  }

  bool possible(Ticks time) const {
    double together = 0;
    for (const auto& [rate, count] : counts_) together += static_cast<double>(count) * capacity(time, rate);
    if (together < all_) return false;
    for (const auto& [load, needed] : at_least_) {
      std::int64_t slots = 0;
      for (const auto& [rate, count] : counts_) {
        slots += count * slots_of(capacity(time, rate), static_cast<double>(load));
      }
      if (slots < needed) return false;
    }
    if (!tries_others_ || each_ == 0) return true;
    std::vector<double> shared;
    return fits(capacity(time, rates_.front()), 0, shared);
  }

 private:
  /// A little more than doubles may be off.
  double capacity(Ticks time, double rate) const {
    return (static_cast<double>(time) * rate + at_once_) * (1 + 1e-12) + 1e-6;
  }

  static std::int64_t slots_of(double capacity, double load) {
    return capacity < load ? 0 : static_cast<std::int64_t>(std::floor(capacity / load));
  }

  /// Whether some way to put the others from `next` on into bins, `shared` beside those before, leaves slots for all of
  /// the equal loads.
  bool fits(double capacity, std::size_t next, std::vector<double>& shared) const {
    if (next == others_.size()) {
      std::int64_t slots = (std::ssize(rates_) - std::ssize(shared)) * slots_of(capacity, static_cast<double>(each_));
      for (const double taken : shared) {
        if (taken > capacity) return false;
        slots += slots_of(capacity - taken, static_cast<double>(each_));
      }
      return slots >= count_;
    }
    for (std::size_t bin = 0; bin < shared.size(); ++bin) {  // by number: what is tried grows `shared`
      const double before = shared[bin];
      shared[bin] += others_[next];
      const bool found = fits(capacity, next + 1, shared);
      shared[bin] = before;
      if (found) return true;
    }
    if (shared.size() == rates_.size()) return false;
    shared.push_back(others_[next]);
    const bool found = fits(capacity, next + 1, shared);
    shared.pop_back();
    return found;
  }

  std::span<const double> rates_;
  double at_once_;
  std::vector<std::pair<double, std::int64_t>> counts_;  ///< how many neighbours have a rate
  double all_ = 0;
  Ticks each_ = 0;
  std::int64_t count_ = 0;
  std::vector<double> others_;
  std::vector<std::pair<Ticks, std::int64_t>> at_least_;  ///< of every load, how many are no smaller
  bool tries_others_ = false;
};

/// The largest number from `low` on that is known not to be possible; `low` is not, or is 0.
template <class Possible>
Ticks least_possible(Ticks low, Possible&& possible) {
  Ticks high = low + low / 4 + 1;
  while (!possible(high)) {
    low = high;
    high *= 2;
  }
  while (high - low > 1 + high / 1'000'000) {
    const Ticks middle = low + (high - low) / 2;
    (possible(middle) ? high : low) = middle;
  }
  return low;
}

/// Two stages of every place, of which the first are further and further from the beginning of the network and the
/// second from its end; or of every pair of places whose copies run in both directions. Places are of one speed. Times
/// are work.
class FoldedStages {
 public:
  /// Of the time before a first forward only `share` counts: as much as it takes from what the place computes.
  FoldedStages(const LayerPrices& prices, const LeastPasses& least, double turns, double share)
      : layers_(prices.least.size()) {
    for (auto* sums : {&alone_, &forward_, &backward_, &update_}) sums->assign(1, 0);
    for (const LayerLeast& layer : prices.least) {
      const auto add = [](std::vector<double>& sums, double more) { sums.push_back(sums.back() + more); };
      const auto forward = static_cast<double>(least.rounded(least.passes(layer).f, 1));
      add(alone_, share * static_cast<double>(least.rounded(layer.alone.f, 1)));
      add(forward_, turns * forward);
      add(backward_, turns * static_cast<double>(least.rounded(least.backward(layer), 2)));
      add(update_, static_cast<double>(least.rounded(layer.u, 1)));
      is_known_ = is_known_ && turns * forward >= static_cast<double>(layer.alone.f);
    }
    stage_updates_ = static_cast<double>(2 * least.rounded(prices.stage_update, 1));
  }

  /// More of a second stage may take less of a microbatch's way than the forwards of it: nothing is proved then.
  bool is_known() const { return is_known_; }

  /// Whether so many places, or pairs, cover all layers within `most`, when `hop` of a message counts and a microbatch
  /// needs so many `hops` to the second stage of the first place: those that have any number of first layers had best
  /// have as many last ones as they can.
  bool covers(double most, std::int32_t places, double hop, std::int32_t hops) const {
    std::vector<std::ptrdiff_t> last(layers_ + 1, -1);  // by first layers that are covered; -1: not possible
    last[0] = 0;
    for (std::int32_t place = 0; place < places; ++place) {
      std::vector<std::ptrdiff_t> more(layers_ + 1, -1);
      for (std::size_t first = 0; first <= layers_; ++first) {
        if (last[first] < 0) continue;
        Place at{.first = first, .end = layers_ - static_cast<std::size_t>(last[first])};
        at.begins = most - stage_updates_ - alone_[first] - place * hop;
        at.turns = most - stage_updates_ - (hops - place) * hop;
        if (add_stages(at, more)) return true;
      }
      last = std::move(more);
    }
    return false;
  }

 private:
  /// A place before it has any of the layers [first, end), and what time it has for them: from its first forward on,
  /// and beside one microbatch's forwards before its second stage.
  struct Place {
    std::size_t first = 0;
    std::size_t end = 0;
    double begins = 0;
    double turns = 0;
  };

  bool has_time(const Place& at, std::size_t front, std::size_t back) const {
    const auto both = [&](const std::vector<double>& sums) {
      return sums[front] - sums[at.first] + sums[at.end] - sums[back];
    };
    const double late = both(backward_) + both(update_);
    return both(forward_) + late <= at.begins && alone_[back] + forward_[at.end] - forward_[back] + late <= at.turns;
  }

  /// All that the place may have of the first layers, each with the most of the last; whether nothing is left then.
  bool add_stages(const Place& at, std::vector<std::ptrdiff_t>& more) const {
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
      more[front] = std::max(more[front], static_cast<std::ptrdiff_t>(layers_ - back));
      if (back <= front) return true;
    }
    return true;
  }

  std::size_t layers_;
  std::vector<double> alone_;    ///< sums over the first k layers: of one forward, what counts
  std::vector<double> forward_;  ///< all forwards, and so on
  std::vector<double> backward_;
  std::vector<double> update_;
  double stage_updates_ = 0;
  bool is_known_ = true;
};

/// Sums over the first k layers, and what of it each kind of schedule cannot avoid.
class PackedLayers {
 public:
  PackedLayers(const LayerPrices& prices, std::int32_t places, std::int64_t microbatches, const ScheduleKinds& kinds)
      : prices_(prices),
        kinds_(kinds),
        microbatches_(microbatches),
        places_(places),
        speed_(largest_of(prices.speed, static_cast<std::size_t>(places))),
        least_(kinds, speed_),
        begun_(first_gradient()),
        share_(computed_share(&Passes::f)),
        early_(static_cast<double>(begun_) * (1 - share_)),
        late_(shown_at_the_end()) {}

  Ticks bound(bool copied) const {
    Ticks bound = packed(copied) + static_cast<Ticks>(std::floor(early_ + late_));
    for (const double per_byte : forwards_per_byte()) bound = std::max(bound, begun_ + packed_after(copied, per_byte));
    return bound;
  }

  /// Places of one speed whose first stages stand in their order, each at least a layer: what place k does begins after
  /// the forwards of k layers, and where backwards are in one, all but its updates ends before their backwards. The
  /// first layer is on the first place, the last one on the last (`last_is_first`: on the first, too). Others are seen
  /// as those that are at least so large. Of the time that a place waits for its first forward, what forwards would not
  /// have computed in it is lost before the first gradient anyway.
  Ticks ordered_bound(bool last_is_first) const {
    if (speed_.front() != speed_.back() || prices_.least.size() < 3) return 0;
    const Ticks with_updates = ordered_time(last_is_first, false);
    return only_fuses() ? std::max(with_updates, ordered_time(last_is_first, true)) : with_updates;
  }

  /// Two stages on each place, there and back; or copies in both directions, each of half of the microbatches, as is
  /// the mean of both places of a pair whatever each has.
  Ticks folded_bound(bool copied) const {
    if (speed_.front() != speed_.back() || (copied && places_ % 2 != 0)) return 0;
    const double turns = static_cast<double>(microbatches_) / (copied ? 2 : 1);
    const FoldedStages folded(prices_, least_, turns, share_);
    if (!folded.is_known()) return 0;
    const double hop = share_ * static_cast<double>(in_work(prices_.hop));
    const auto possible = [&](Ticks time) {
      const std::int32_t places = copied ? places_ / 2 : places_;
      return folded.covers(work_until(time, early_ + late_), places, hop, copied ? places_ - 1 : 2 * places_ - 2);
    };
    const Ticks low = lowest(copied);
    return possible(low + 1) ? low : least_possible(low, possible);
  }

  /// Stages in order, one on each place.
  Ticks linear_bound() const {
    return least_possible(lowest(false), [&](Ticks time) { return covers(time); });
  }

 private:
  using Passes = LayerLeast::Passes;

  bool only_fuses() const { return kinds_.fuses && !kinds_.splits; }

  /// With what comes after the updates of places, or with what comes after their backwards.
  Ticks ordered_time(bool last_is_first, bool goes_back) const {
    const Ticks last = least_.rounded(prices_.least.front().u + prices_.stage_update, 2);
    std::vector<Ticks> waits{goes_back ? last : static_cast<Ticks>(stage_updates(false))};
    for (std::size_t place = 1; place < speed_.size(); ++place) {
      const LayerLeast& layer = prices_.least[place - 1];
      const Ticks before = least_.rounded(layer.alone.f, 1) + in_work(prices_.hop);
      const Ticks behind = goes_back ? least_.rounded(least_.passes(layer).b, 1) + in_work(prices_.hop) : 0;
      waits.push_back(waits.back() + static_cast<Ticks>(std::floor(share_ * static_cast<double>(before))) + behind);
    }
    std::vector<Ticks> loads;
    for (LayerLeast layer : prices_.least) {
      if (goes_back) layer.u = 0;
      loads.push_back(load_of(layer, false));
    }
    waits.front() += loads.front();
    (last_is_first ? waits.front() : waits.back()) += loads.back();
    std::vector<Ticks> others(loads.begin() + 1, loads.end() - 1);
    std::sort(others.begin(), others.end(), std::greater<>());
    const auto possible = [&](Ticks time) {
      const double most = work_until(time, early_ + (goes_back ? 0 : late_));
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
    return least_possible(lowest(false), possible);
  }

  /// What the fastest place computes in a step, of which so much is `lost`.
  double work_until(Ticks step, double lost) const {
    return (static_cast<double>(step) - lost) * speed_.front() * (1 + 1e-12) + 1;
  }

  /// A time that is not enough, or 0.
  Ticks lowest(bool copied) const { return std::max<Ticks>(0, packed(copied) - 1); }

  /// Of a microbatch.
  Ticks turn(const LayerLeast& layer) const { return least_.passes(layer).f + least_.backward(layer); }

  /// Work that the fastest place does meanwhile.
  Ticks in_work(Ticks time) const { return static_cast<Ticks>(std::floor(static_cast<double>(time) * speed_.front())); }

  /// Of the stages of a place, or of a pair of places, beside those of their layers.
  double stage_updates(bool copied) const {
    const Ticks each = least_.rounded(prices_.stage_update, 1);
    const std::int32_t of_pair = places_ % 2 == 0 ? 4 : 1;
    return static_cast<double>(each * (copied ? of_pair : kinds_.per_place));
  }

  /// Copies of a layer on a pair of places; one may be all that there is where a place is its own pair.
  Ticks copies(bool copied) const { return copied && places_ % 2 == 0 ? 2 : 1; }

  Ticks load_of(const LayerLeast& layer, bool copied) const {
    const Ticks load = microbatches_ * turn(layer) + copies(copied) * layer.u;
    return least_.rounded(load, 3 * microbatches_ + copies(copied));
  }

  Ticks packed(bool copied) const {
    std::vector<Ticks> loads;
    for (const LayerLeast& layer : prices_.least) loads.push_back(load_of(layer, copied));
    return packed_time(loads, bins(copied), -stage_updates(copied));
  }

  /// What is left after the first gradient: of the forwards a place has done no more than `per_byte` of its memory, and
  /// all of those that take more for what they keep. Weights and state take of that memory.
  Ticks packed_after(bool copied, double per_byte) const {
    std::vector<Ticks> loads;
    for (const LayerLeast& layer : prices_.least) {
      const auto kept = static_cast<Ticks>(std::floor(per_byte * static_cast<double>(layer.kept_bytes)));
      const auto held =
          static_cast<Ticks>(std::floor(per_byte * static_cast<double>(copies(copied) * layer.held_bytes)));
      const Ticks beyond = std::max<Ticks>(0, least_.passes(layer).f - kept);
      loads.push_back(std::max<Ticks>(0, load_of(layer, copied) - microbatches_ * beyond) + held);
    }
    const double room = per_byte * static_cast<double>(copied ? 2 * room_bytes() : room_bytes());
    return packed_time(loads, bins(copied), room - stage_updates(copied));
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

  /// Of the time of a pass of any layer that is alone: the most of what it computes.
  double computed_share(Ticks Passes::*pass) const {
    if (!kinds_.overlaps) return 1;
    double most = 0;
    for (const LayerLeast& layer : prices_.least) {
      if (layer.paired.*pass <= 0) continue;
      if (layer.alone.*pass <= layer.paired.*pass) return 1;
      most = std::max(most, static_cast<double>(layer.paired.*pass) / static_cast<double>(layer.alone.*pass));
    }
    return std::min(1.0, most * (1 + 1e-9));
  }

  /// After the last forward of all, its microbatch's gradient has to go through all layers. Meanwhile there is nothing
  /// but backwards, whose communication nothing hides unless they are paired with each other. Those in one; halves
  /// might be weight gradients, which communicate nothing.
  double shown_at_the_end() const {
    if (!kinds_.overlaps || kinds_.hides_backwards || kinds_.splits) return 0;
    double way = 0;
    for (const LayerLeast& layer : prices_.least) way += static_cast<double>(least_.rounded(layer.paired.b, 1));
    return way / speed_.front() * (1 - computed_share(&Passes::b));
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
      Ticks work = least_.rounded(prices_.stage_update, 1);
      Ticks inputs = 0;
      const Ticks waited = before + in_work(stage * prices_.hop);
      const Ticks goes_on = behind + in_work(stage * prices_.hop);
      for (; layer < prices_.least.size(); ++layer) {
        const LayerLeast& next = prices_.least[layer];
        const Ticks forward = least_.passes(next).f;
        work += least_.rounded(microbatches_ * turn(next) + next.u, 3 * microbatches_ + 1);
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
  Ticks begun_;   ///< the first gradient, at the earliest
  double share_;  ///< of the time before it: the most that forwards compute
  double early_;  ///< time that is lost before it where nothing hides communication, and at the end
  double late_;
};

}  // namespace

Ticks packed_time(std::span<const Ticks> loads, std::span<const double> rates, double at_once) {
  const Packing packing(loads, rates, at_once);
  if (packing.possible(0)) return 0;
  return least_possible(packing.least(), [&](Ticks time) { return packing.possible(time); });
}

Ticks packing_bound(const LayerPrices& prices, std::int32_t places, std::int64_t microbatches,
                    const ScheduleKinds& kinds) {
  if (prices.least.empty() || kinds.sliced || kinds.other) return 0;
  const PackedLayers layers(prices, places, microbatches, kinds);
  Ticks bound = std::numeric_limits<Ticks>::max();
  if (kinds.copied) bound = std::min(bound, std::max(layers.bound(true), layers.folded_bound(true)));
  if (kinds.looped) bound = std::min(bound, std::max(layers.bound(false), layers.ordered_bound(false)));
  if (kinds.turned) {
    const Ticks ordered = kinds.deep ? std::min(layers.ordered_bound(true), layers.ordered_bound(false))
                                     : std::max(layers.ordered_bound(true), layers.folded_bound(false));
    bound = std::min(bound, std::max(layers.bound(false), ordered));
  }
  if (kinds.linear) {
    bound = std::min(bound, std::max({layers.bound(false), layers.linear_bound(), layers.ordered_bound(false)}));
  }
  return bound == std::numeric_limits<Ticks>::max() ? 0 : bound;
}

}  // namespace plumb
