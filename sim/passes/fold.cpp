#include "sim/passes/fold.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>

namespace plumb {
namespace {

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kFewestIterations = 4;

/// What is taken out: microbatches inside every update, or whole updates.
enum class Level : std::uint8_t { kMicrobatches, kUpdates };

bool counts_updates(Op op) { return op == Op::kU || op == Op::kV; }

/// Numbers [first, first + length) of every `modulus` numbers are taken away.
struct Cut {
  std::int64_t modulus = kHuge;
  std::int64_t first = 0;
  std::int64_t length = 0;

  bool removes(std::int64_t x) const { return x % modulus >= first && x % modulus < first + length; }
  /// The new number of `x`, which must stay.
  std::int64_t renumbered(std::int64_t x) const {
    const std::int64_t rest = x % modulus;
    return x - x / modulus * length - (rest >= first ? length : 0);
  }
};

/// The numbers that an action takes on in all its enclosing repeats but the update repeat of a microbatch cut.
struct Numbers {
  std::int64_t low_first = 0;   ///< smallest number of the lowest iteration of the long repeat
  std::int64_t low_last = 0;    ///< largest number of that iteration
  std::int64_t high_first = 0;  ///< smallest number of its highest iteration
  std::int64_t high_last = 0;
  bool in_long_repeat = false;
};

/// One device's list, with the repeats that a level shortens.
class FoldedList {
 public:
  FoldedList(const DeviceList& list, Level level, std::int64_t all) : list_(list), level_(level) {
    for (const Repeat& repeat : list.repeats) is_long_.push_back(qualifies(repeat, all));
    for (std::size_t r = 0; r < list.repeats.size(); ++r) {
      if (!is_long_[r]) continue;
      for (std::size_t inner = r + 1; inner < list.repeats.size(); ++inner) {
        if (list.repeats[inner].begin < list.repeats[r].end) is_long_[inner] = false;
      }
    }
  }

  const std::vector<bool>& is_long() const { return is_long_; }

  /// Calls `visit(action, numbers)` for every written action that counts what the level (`updates`: U and V) cuts.
  template <class Visit>
  void for_each(bool updates, Visit&& visit) const {
    for (std::size_t at = 0; at < list_.actions.size(); ++at) {
      const Action& action = list_.actions[at];
      if (is_collective(action.op) || counts_updates(action.op) != updates) continue;
      visit(action, numbers(at, updates));
    }
  }

 private:
  /// Whether the repeat runs through more than half of `all` that there is to run through.
  bool qualifies(const Repeat& repeat, std::int64_t all) const {
    const std::int64_t updates = repeat.advance.update;
    const std::int64_t microbatches = std::abs(std::int64_t{repeat.advance.microbatch});
    const bool by_update = level_ == Level::kUpdates;
    return by_update == (updates > 0) && 2 * (by_update ? updates : microbatches) * repeat.count > all;
  }

  Numbers numbers(std::size_t at, bool updates) const {
    const auto start = static_cast<std::int64_t>(list_.actions[at].microbatch);
    Numbers n{start, start, start, start, false};
    for (std::size_t r = 0; r < list_.repeats.size(); ++r) {
      const Repeat& repeat = list_.repeats[r];
      if (at < repeat.begin || at >= repeat.end) continue;
      if (level_ == Level::kMicrobatches && repeat.advance.update > 0) continue;
      const std::int64_t spread =
          std::int64_t{updates ? repeat.advance.update : repeat.advance.microbatch} * (repeat.count - 1);
      n.low_first += std::min<std::int64_t>(0, spread);
      n.high_last += std::max<std::int64_t>(0, spread);
      n.low_last += is_long_[r] ? std::min<std::int64_t>(0, spread) : std::max<std::int64_t>(0, spread);
      n.high_first += is_long_[r] ? std::max<std::int64_t>(0, spread) : std::min<std::int64_t>(0, spread);
      n.in_long_repeat = n.in_long_repeat || is_long_[r];
    }
    return n;
  }

  const DeviceList& list_;
  Level level_;
  std::vector<bool> is_long_;
};

/// One level of a fold: finds the cut and applies it.
class Shortening {
 public:
  Shortening(const Schedule& schedule, Level level)
      : schedule_(schedule), level_(level), per_update_(schedule.microbatches_per_update.front()) {
    const std::int64_t all = level == Level::kMicrobatches ? per_update_ : schedule.num_microbatches / per_update_;
    for (const DeviceList& list : schedule.devices) lists_.emplace_back(list, level, all);
  }

  /// Chooses the cuts so that about `keep` microbatches stay; false when there is nothing to take.
  bool choose(std::int64_t keep, std::int64_t multiple) {
    const auto advance = common_advance();
    if (!advance) return false;
    advance_ = *advance;
    if (level_ == Level::kMicrobatches) cut_.modulus = per_update_;
    std::int64_t first = 0;
    std::int64_t end = kHuge;
    narrow(false, cut_.modulus, first, end);
    const std::int64_t step = std::lcm(advance_, multiple);
    const std::int64_t kept = std::max(keep, kFewestIterations * advance_);
    cut_.first = first;
    if (end - first <= kept) return false;
    cut_.length = (end - first - kept) / step * step;
    removed_ = cut_.length / advance_;
    return removed_ > 0 && (level_ == Level::kMicrobatches || choose_update_cut()) && is_clean();
  }

  std::int64_t removed() const { return removed_; }
  std::int64_t advance() const { return advance_; }
  const FoldedList& list(std::size_t device) const { return lists_[device]; }

  Schedule apply() const {
    Schedule result = schedule_;
    for (std::size_t d = 0; d < result.devices.size(); ++d) shorten(result.devices[d], lists_[d].is_long());
    if (level_ == Level::kMicrobatches) {
      for (std::int64_t& count : result.microbatches_per_update) count -= cut_.length;
      result.num_microbatches -= schedule_.num_microbatches / per_update_ * cut_.length;
    } else {
      result.num_microbatches -= cut_.length;
    }
    return result;
  }

 private:
  /// Microbatches that one iteration of every long repeat advances by, nothing where they differ or a list has none.
  /// Replicated stages take turns, so whole turns go together.
  std::optional<std::int64_t> common_advance() const {
    std::int64_t advance = 0;
    for (std::size_t d = 0; d < lists_.size(); ++d) {
      bool any = false;
      for (std::size_t r = 0; r < lists_[d].is_long().size(); ++r) {
        if (!lists_[d].is_long()[r]) continue;
        const std::int64_t own = std::abs(std::int64_t{schedule_.devices[d].repeats[r].advance.microbatch});
        if (own == 0 || (advance != 0 && own != advance)) return std::nullopt;
        advance = own;
        any = true;
      }
      if (!any) return std::nullopt;
    }
    if (level_ == Level::kUpdates && advance % per_update_ != 0) return std::nullopt;
    for (const auto& replica : schedule_.placement) {
      for (const std::vector<DeviceId>& holders : replica) {
        if (advance % static_cast<std::int64_t>(holders.size()) != 0) return std::nullopt;
      }
    }
    return advance == 0 ? std::nullopt : std::optional(advance);
  }

  /// Narrows [first, end) to numbers that every long repeat runs through.
  void narrow(bool updates, std::int64_t modulus, std::int64_t& first, std::int64_t& end) const {
    for (const FoldedList& list : lists_) {
      list.for_each(updates, [&](const Action&, const Numbers& n) {
        if (!n.in_long_repeat) return;
        const std::int64_t base = n.low_first / modulus * modulus;
        first = std::max(first, n.low_last - base + 1);
        end = std::min({end, n.high_first - base, modulus});
      });
    }
  }

  bool choose_update_cut() {
    std::int64_t first = 0;
    std::int64_t end = kHuge;
    narrow(true, kHuge, first, end);
    update_cut_ = {.first = first, .length = cut_.length / per_update_};
    return end == kHuge || end - first >= update_cut_.length;
  }

  /// Whether long repeats lose exactly the numbers of one cut and all other actions none.
  bool is_clean() const {
    bool clean = true;
    const auto check = [&](const Cut& cut, bool updates) {
      for (const FoldedList& list : lists_) {
        list.for_each(updates, [&](const Action&, const Numbers& n) {
          const std::int64_t lost = n.in_long_repeat ? cut.length : 0;
          const auto stays = [&](std::int64_t low, std::int64_t high, std::int64_t without) {
            return !cut.removes(low) && !cut.removes(high) &&
                   cut.renumbered(high) - cut.renumbered(low) == high - low - without;
          };
          clean = clean && stays(n.low_first, n.high_last, lost) && stays(n.low_first, n.low_last, 0) &&
                  stays(n.high_first, n.high_last, 0);
        });
      }
    };
    check(cut_, false);
    if (level_ == Level::kUpdates) check(update_cut_, true);
    return clean;
  }

  void shorten(DeviceList& list, const std::vector<bool>& is_long) const {
    for (Action& action : list.actions) {
      if (is_collective(action.op)) continue;
      const bool updates = counts_updates(action.op);
      if (updates && level_ == Level::kMicrobatches) continue;
      const auto number = static_cast<std::int64_t>(action.microbatch);
      action.microbatch = MicrobatchId{static_cast<std::int32_t>((updates ? update_cut_ : cut_).renumbered(number))};
    }
    for (std::size_t r = 0; r < list.repeats.size(); ++r) {
      Repeat& repeat = list.repeats[r];
      if (is_long[r]) {
        repeat.count -= removed_;
      } else if (level_ == Level::kMicrobatches && repeat.advance.update > 0) {
        repeat.advance.microbatch -= static_cast<std::int32_t>(repeat.advance.update * cut_.length);
      }
    }
  }

  const Schedule& schedule_;
  Level level_;
  std::int64_t per_update_;
  std::vector<FoldedList> lists_;
  std::int64_t advance_ = 0;
  std::int64_t removed_ = 0;
  Cut cut_;
  Cut update_cut_;
};

bool is_foldable(const Schedule& schedule) {
  const auto& per_update = schedule.microbatches_per_update;
  const bool one_pace = std::ranges::all_of(per_update, [&](std::int64_t m) { return m == per_update.front(); });
  const bool by_rule =
      std::ranges::all_of(schedule.recompute, [](const Recompute& r) { return r.microbatches.empty(); });
  const bool equal_slices = !schedule.slices || schedule.slices->lengths.size() <= 1;
  return !per_update.empty() && per_update.front() > 0 && one_pace && by_rule && equal_slices &&
         schedule.microbatch_sizes.empty() && schedule.extra_edges.empty();
}

/// Where the marked repeats of one list stand once it is expanded.
class RegionFinder {
 public:
  RegionFinder(const DeviceList& list, InstrIndex begin) : list_(list), at_(begin) {}

  /// Every occurrence of the repeats with `wanted`, in order.
  std::vector<FoldedRegion> find(const std::vector<bool>& wanted) {
    wanted_ = &wanted;
    walk(0, list_.actions.size(), 0);
    return std::move(found_);
  }

  /// The position after the lane, once it has been walked.
  InstrIndex end() const { return at_; }

 private:
  static InstrIndex to_index(std::int64_t x) { return static_cast<InstrIndex>(x); }

  std::size_t walk(std::size_t begin, std::size_t end, std::size_t next) {
    for (std::size_t at = begin; at < end;) {
      const bool opens =
          next < list_.repeats.size() && list_.repeats[next].begin == at && list_.repeats[next].end <= end;
      if (!opens) {
        at_ += list_.actions[at].op == Op::kSyncWeights ? 2 : 1;  // joins, then waits
        ++at;
        continue;
      }
      const Repeat& repeat = list_.repeats[next];
      std::size_t after = next + 1;
      while (after < list_.repeats.size() && list_.repeats[after].begin < repeat.end) ++after;
      iterate(repeat, next, after);
      next = after;
      at = repeat.end;
    }
    return next;
  }

  void iterate(const Repeat& repeat, std::size_t self, std::size_t after) {
    const InstrIndex begin = at_;
    const auto inside = std::span(list_.repeats).subspan(self + 1, after - self - 1);
    const bool holds_wanted = std::any_of(wanted_->begin() + static_cast<std::ptrdiff_t>(self) + 1,
                                          wanted_->begin() + static_cast<std::ptrdiff_t>(after), std::identity{});
    for (std::int64_t i = 0; i < repeat.count; ++i) {
      walk(repeat.begin, repeat.end, self + 1);
      if (i == 0 && (inside.empty() || !holds_wanted)) {
        at_ = begin + to_index((at_ - begin) * repeat.count);
        break;
      }
    }
    if ((*wanted_)[self]) found_.push_back({begin, to_index((at_ - begin) / repeat.count), repeat.count});
  }

  const DeviceList& list_;
  const std::vector<bool>* wanted_ = nullptr;
  InstrIndex at_;
  std::vector<FoldedRegion> found_;
};

/// Regions of all lanes; nothing where lanes have different numbers of them.
using Regions = std::vector<std::vector<FoldedRegion>>;

std::optional<Regions> find_regions(const Schedule& schedule, const Shortening& shortening) {
  Regions regions;
  InstrIndex begin = 0;
  for (std::size_t d = 0; d < schedule.devices.size(); ++d) {
    RegionFinder finder(schedule.devices[d], begin);
    regions.push_back(finder.find(shortening.list(d).is_long()));
    if (regions[d].size() != regions.front().size()) return std::nullopt;
    begin = finder.end();
  }
  return regions;
}

/// Phase `number` of every lane.
FoldedPhase phase_of(const Regions& regions, std::size_t number, const Shortening& shortening) {
  FoldedPhase phase;
  phase.kept = kHuge;
  phase.removed = shortening.removed();
  phase.advance = shortening.advance();
  for (const std::vector<FoldedRegion>& lane : regions) {
    phase.lanes.push_back(lane[number]);
    phase.kept = std::min(phase.kept, lane[number].kept);
  }
  return phase;
}

/// Number of `lane`'s regions that begin before `position`.
std::size_t count_before(const std::vector<FoldedRegion>& lane, InstrIndex position) {
  return static_cast<std::size_t>(std::ranges::lower_bound(lane, position, {}, &FoldedRegion::begin) - lane.begin());
}

/// Puts the phases of `inner` that lie inside iterations of `outer` there; nothing where lanes differ.
std::optional<std::vector<FoldedPhase>> nested(FoldedPhase outer, const Regions& inner, const Shortening& shortening) {
  const FoldedRegion& front = outer.lanes.front();
  const std::size_t before = count_before(inner.front(), front.begin);
  const std::size_t each = count_before(inner.front(), front.begin + front.length) - before;
  for (std::size_t d = 0; d < inner.size(); ++d) {
    const FoldedRegion& lane = outer.lanes[d];
    for (std::int64_t i = 0; i <= outer.kept; ++i) {
      const auto position = lane.begin + static_cast<InstrIndex>(i) * lane.length;
      if (count_before(inner[d], position) != before + static_cast<std::size_t>(i) * each) return std::nullopt;
    }
  }
  std::vector<FoldedPhase> phases;
  std::size_t number = 0;
  while (number < before) phases.push_back(phase_of(inner, number++, shortening));
  for (std::int64_t i = 0; i < outer.kept && each > 0; ++i) {
    outer.inside.emplace_back();
    for (std::size_t k = 0; k < each; ++k) outer.inside.back().push_back(phase_of(inner, number++, shortening));
  }
  phases.push_back(std::move(outer));
  while (number < inner.front().size()) phases.push_back(phase_of(inner, number++, shortening));
  return phases;
}

}  // namespace

std::optional<Fold> fold(const Schedule& schedule, std::int64_t keep, std::int64_t multiple) {
  if (!is_foldable(schedule)) return std::nullopt;
  Shortening microbatches(schedule, Level::kMicrobatches);
  const bool has_microbatches = microbatches.choose(keep, multiple);
  const Schedule shorter = has_microbatches ? microbatches.apply() : schedule;
  Shortening updates(shorter, Level::kUpdates);
  const bool has_updates = updates.choose(keep, multiple);
  if (!has_microbatches && !has_updates) return std::nullopt;

  Fold result{.schedule = has_updates ? updates.apply() : shorter, .phases = {}};
  Regions inner(schedule.devices.size());
  if (has_microbatches) {
    auto found = find_regions(result.schedule, microbatches);
    if (!found) return std::nullopt;
    inner = *std::move(found);
  }
  if (!has_updates) {
    for (std::size_t n = 0; n < inner.front().size(); ++n) {
      result.phases.push_back(phase_of(inner, n, microbatches));
    }
    return result;
  }
  const auto outer = find_regions(result.schedule, updates);
  if (!outer || outer->front().size() != 1) return std::nullopt;
  auto phases = nested(phase_of(*outer, 0, updates), inner, microbatches);
  if (!phases) return std::nullopt;
  result.phases = *std::move(phases);
  return result;
}

}  // namespace plumb
