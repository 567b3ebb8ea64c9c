#include "sim/plan_search/plan_cuts.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace plumb {
namespace {

using Sums = std::vector<std::int64_t>;

Sums sums_of(std::span<const std::int64_t> values) {
  Sums sums(values.size() + 1);
  std::partial_sum(values.begin(), values.end(), sums.begin() + 1);
  return sums;
}

/// Cuts whose slowest stage is within a bound, by a dynamic program over the ends that every stage can have.
///
/// Loads and bytes grow with the layers of a stage. So of all begins of a stage, the last one before its end is best
/// for it, and of all bounds that are feasible, every larger one is too.
class BoundedCut {
 public:
  BoundedCut(const LayerLoads& layers, std::span<const StageRoom> rooms)
      : load_(sums_of(layers.load)),
        held_(sums_of(layers.held_bytes)),
        kept_(sums_of(layers.kept_bytes)),
        spared_(sums_of(layers.spared_bytes)),
        again_(sums_of(layers.again)),
        rooms_(rooms) {}

  std::size_t layers() const { return load_.size() - 1; }
  Ticks all() const { return load_.back(); }

  /// Returns whether a stage of the layers [begin, end) is within `bound` and its room, if as much runs again as must.
  bool fits(std::size_t stage, std::size_t begin, std::size_t end, Ticks bound) const {
    const StageRoom& room = rooms_[stage];
    const auto most = static_cast<Ticks>(std::floor(static_cast<double>(bound) * room.speed));
    const Ticks load = load_[end] - load_[begin];
    if (load > most) return false;
    const std::int64_t bytes = held_[end] - held_[begin] + room.in_flight * (kept_[end] - kept_[begin]);
    if (room.room_bytes == 0) return true;
    return bytes <= room.room_bytes && load + run_again(begin, end, room, bytes) <= most;
  }

  /// Returns the time that a stage takes longer because it lacks room: `bytes` is what it takes with everything run
  /// again. Running a share of its layers again spares that share of the bytes.
  Ticks run_again(std::size_t begin, std::size_t end, const StageRoom& room, std::int64_t bytes) const {
    if (spared_.size() != load_.size()) return 0;
    const std::int64_t spared = room.in_flight * (spared_[end] - spared_[begin]);
    const std::int64_t missing = bytes + spared - room.room_bytes;
    if (missing <= 0 || spared <= 0) return 0;
    return static_cast<Ticks>(static_cast<double>(again_[end] - again_[begin]) * static_cast<double>(missing) /
                              static_cast<double>(spared));
  }

  /// Lists by stage the ends that it can have if all stages up to it fit; the last list is empty if there is no cut.
  /// One look at each end decides: the largest begin before it leaves the stage the fewest layers.
  std::vector<std::vector<std::size_t>> ends(Ticks bound) const {
    std::vector<std::vector<std::size_t>> all{{0}};
    for (std::size_t s = 0; s < rooms_.size(); ++s) {
      const std::vector<std::size_t>& begins = all.back();
      std::vector<std::size_t> reached;
      const std::size_t most = layers() - (rooms_.size() - 1 - s);  // a layer for every stage after
      const bool last = s + 1 == rooms_.size();
      std::size_t next = 0;
      for (std::size_t end = begins.empty() ? most + 1 : begins.front() + 1; end <= most; ++end) {
        while (next < begins.size() && begins[next] < end) ++next;
        if ((!last || end == most) && fits(s, begins[next - 1], end, bound)) reached.push_back(end);
      }
      all.push_back(std::move(reached));
    }
    return all;
  }

  bool feasible(Ticks bound) const { return !ends(bound).back().empty(); }

  /// Chooses, among the boundaries that `bound` allows, the nearest ones to even shares, from the last stage to the
  /// first: each begin that the stages before can reach and that leaves this stage within the bound.
  Partition even(Ticks bound) const {
    const std::vector<std::vector<std::size_t>> reached = ends(bound);
    double together = 0;
    for (const StageRoom& room : rooms_) together += room.speed;
    Partition cut{std::vector<std::size_t>(rooms_.size() + 1)};
    cut.bounds.back() = layers();
    double share = 0;
    for (std::size_t s = rooms_.size(); s-- > 1;) {
      share += rooms_[s].speed;
      const double wanted = static_cast<double>(all()) * (1 - share / together);
      const auto away = [&](std::size_t at) { return std::abs(static_cast<double>(load_[at]) - wanted); };
      std::size_t best = 0;
      for (const std::size_t begin : reached[s]) {
        if (begin >= cut.bounds[s + 1] || !fits(s, begin, cut.bounds[s + 1], bound)) continue;
        if (best == 0 || away(begin) < away(best)) best = begin;
      }
      cut.bounds[s] = best;
    }
    return cut;
  }

 private:
  Sums load_;
  Sums held_;
  Sums kept_;
  Sums spared_;
  Sums again_;
  std::span<const StageRoom> rooms_;
};

/// Adds all cuts that continue `begun`.
void add_cuts(std::size_t layers, std::size_t stages, Partition& begun, std::vector<Partition>& cuts) {
  const std::size_t made = begun.bounds.size() - 1;
  if (made + 1 == stages) {
    cuts.push_back(begun);
    cuts.back().bounds.push_back(layers);
    return;
  }
  for (std::size_t end = begun.bounds.back() + 1; end + (stages - made - 1) <= layers; ++end) {
    begun.bounds.push_back(end);
    add_cuts(layers, stages, begun, cuts);
    begun.bounds.pop_back();
  }
}

bool every_stage_has_layers(const Partition& cut) {
  return std::adjacent_find(cut.bounds.begin(), cut.bounds.end(), std::greater_equal<>()) == cut.bounds.end();
}

/// Gives one layer from stage `from` to stage `to`; all stages between hand one on.
Partition moved(Partition cut, std::size_t from, std::size_t to) {
  for (std::size_t s = from; s < to; ++s) --cut.bounds[s + 1];
  for (std::size_t s = to; s < from; ++s) ++cut.bounds[s + 1];
  return cut;
}

}  // namespace

std::optional<Partition> balanced_cut(const LayerLoads& layers, std::span<const StageRoom> rooms) {
  const BoundedCut bounded(layers, rooms);
  if (rooms.size() > bounded.layers()) return std::nullopt;
  double slowest = 1.0;
  for (const StageRoom& room : rooms) slowest = std::min(slowest, room.speed);
  const Ticks again = std::accumulate(layers.again.begin(), layers.again.end(), Ticks{0});
  // Any cut is within everything on the slowest place; if that is not feasible, memory does not suffice.
  Ticks high = static_cast<Ticks>(std::ceil(static_cast<double>(bounded.all() + again) / slowest)) + 1;
  if (!bounded.feasible(high)) return std::nullopt;
  for (Ticks low = 0; low < high;) {
    const Ticks middle = low + (high - low) / 2;
    if (bounded.feasible(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return bounded.even(high);
}

std::int64_t count_cuts(std::size_t layers, std::size_t stages, std::int64_t most) {
  if (stages == 0 || stages > layers) return 0;
  double count = 1;  // (layers - 1) choose (stages - 1)
  for (std::size_t k = 1; k < stages; ++k) {
    count = count * static_cast<double>(layers - k) / static_cast<double>(k);
  }
  return count > static_cast<double>(most) ? most + 1 : std::llround(count);
}

std::vector<Partition> all_cuts(std::size_t layers, std::size_t stages) {
  std::vector<Partition> cuts;
  Partition begun{{0}};
  if (stages > 0 && stages <= layers) add_cuts(layers, stages, begun, cuts);
  return cuts;
}

std::vector<Partition> near_cuts(const Partition& partition, std::span<const std::size_t> crowded) {
  constexpr std::size_t kFewStages = 12;
  const std::size_t stages = partition.num_stages();
  std::vector<Partition> near;
  for (std::size_t from = 0; from < stages; ++from) {
    const bool is_crowded = std::find(crowded.begin(), crowded.end(), from) != crowded.end();
    for (std::size_t to = 0; to < stages; ++to) {
      const bool neighbours = from + 1 == to || to + 1 == from;
      if (from == to || (stages > kFewStages && !is_crowded && !neighbours)) continue;
      Partition cut = moved(partition, from, to);
      if (every_stage_has_layers(cut)) near.push_back(std::move(cut));
    }
  }
  return near;
}

}  // namespace plumb
