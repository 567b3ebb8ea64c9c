#include "schedules/catalogue/zero_bubble/v_greedy.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace plumb {
namespace {

/// Kinds of a device's passes in the grid: F0, F1, I1, I0 as in `VPass`, then W. While passes move, the W of both
/// stages are one kind, in the order of their backwards; at last they are told apart.
constexpr std::size_t kW = 4;
using Slots = std::vector<std::int64_t>;
using DeviceSlots = std::array<Slots, kVPassCount>;  ///< by kind, then microbatch (W: place in line)

constexpr std::int64_t kEmptySlot = -1;

/// The kind in every slot up to the last pass of the first `kinds` kinds.
std::vector<std::int8_t> cells_of(const DeviceSlots& device, std::size_t kinds) {
  std::int64_t last = kEmptySlot;
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    if (!device[kind].empty()) last = std::max(last, device[kind].back());
  }
  std::vector<std::int8_t> cells(static_cast<std::size_t>(last + 1), kEmptySlot);
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    for (const std::int64_t slot : device[kind]) cells[static_cast<std::size_t>(slot)] = static_cast<std::int8_t>(kind);
  }
  return cells;
}

constexpr bool is_forward_kind(std::int64_t kind) { return kind == 0 || kind == 1; }
constexpr bool is_backward_kind(std::int64_t kind) { return kind == 2 || kind == 3; }

/// Fills idle slots with pending W, the rest after the end. Apart: W of I1 go before those of I0.
void place_weights(DeviceSlots& device, bool apart) {
  device[kW].clear();
  device[kW + 1].clear();
  const auto cells = cells_of(device, kW);
  std::array<std::int64_t, 2> pending{};
  const auto take = [&](std::int64_t slot) {
    const std::size_t which = pending[0] > 0 ? 0 : 1;
    device[kW + which].push_back(slot);
    --pending[which];
  };
  for (std::size_t slot = 0; slot < cells.size(); ++slot) {
    if (is_backward_kind(cells[slot])) ++pending[apart && cells[slot] == 3 ? 1 : 0];
    if (cells[slot] == kEmptySlot && pending[0] + pending[1] > 0) take(static_cast<std::int64_t>(slot));
  }
  for (auto slot = static_cast<std::int64_t>(cells.size()); pending[0] + pending[1] > 0; ++slot) take(slot);
}

/// Stashes of a device along its slots; idle slots free a pending backward's stash when W is not placed.
struct StashCount {
  std::int64_t now = 0;
  std::int64_t pending = 0;
  std::int64_t peak = 0;

  void take(std::int64_t kind, bool weights_placed) {
    if (is_forward_kind(kind)) ++now;
    if (kind == static_cast<std::int64_t>(kW)) --now;
    if (is_backward_kind(kind)) ++pending;
    if (kind == kEmptySlot && !weights_placed && pending > 0) {
      --pending;
      --now;
    }
    peak = std::max(peak, now);
  }
};

/// A pass at its slot, in the order in which passes are visited.
struct PassVisit {
  std::int64_t slot = 0;
  std::int32_t device = 0;
  std::int32_t kind = 0;
  std::int64_t number = 0;

  friend bool operator<(const PassVisit& a, const PassVisit& b) {
    return std::tie(a.slot, a.device, a.kind) < std::tie(b.slot, b.device, b.kind);
  }
};

/// The whole grid. Symbols: device d, kind c, microbatch k.
class GreedyGrid {
 public:
  GreedyGrid(const std::vector<VSlots>& block, std::int64_t m) : m_(m), devices_(block.size()) {
    constexpr std::int64_t kPeriod = 6;
    for (std::size_t d = 0; d < block.size(); ++d) {
      for (std::size_t kind = 0; kind < kW; ++kind) {
        for (std::int64_t k = 0; k < m; ++k) devices_[d][kind].push_back(block[d][kind] + kPeriod * k);
      }
    }
  }

  /// Moves passes of warm-up (only with W placed) and drain to earlier slots under the peak of now, then takes out what
  /// idle slots the order does not need.
  void reorder(bool weights_placed) {
    weights_placed_ = weights_placed;
    kinds_ = weights_placed ? kW + 1 : kW;
    if (weights_placed) place_all_weights(false);
    prepare();
    enum class Phase : std::uint8_t { kWarmUp, kSteady, kDrain };
    auto phase = Phase::kWarmUp;
    for (const PassVisit& visit : visits()) {
      if (visit.kind == 3 && visit.device == 0 && phase == Phase::kWarmUp) phase = Phase::kSteady;
      if (phase == Phase::kSteady) {
        if (visit.kind == 0 && visit.number == m_ - 1) phase = Phase::kDrain;
      } else if (phase == Phase::kDrain || weights_placed) {
        move_earlier(visit);
      }
    }
    if (!weights_placed) place_all_weights(false);
    kinds_ = kW + 1;
    squeeze();
  }

  std::vector<VWord> words() {
    place_all_weights(true);
    std::vector<VWord> words;
    for (const DeviceSlots& device : devices_) {
      auto& word = words.emplace_back();
      for (const std::int8_t cell : cells_of(device, kVPassCount)) {
        if (cell != kEmptySlot) word.push_back(static_cast<VPass>(cell));
      }
    }
    return words;
  }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  Slots& slots(std::int32_t d, std::size_t kind) { return devices_[at(d)][kind]; }
  std::int32_t size() const { return static_cast<std::int32_t>(devices_.size()); }

  void place_all_weights(bool apart) {
    for (DeviceSlots& device : devices_) place_weights(device, apart);
  }

  std::vector<PassVisit> visits() const {
    std::vector<PassVisit> all;
    for (std::int32_t d = 0; d < size(); ++d) {
      for (std::size_t kind = 0; kind < kinds_; ++kind) {
        const Slots& line = devices_[at(d)][kind];
        for (std::size_t k = 0; k < line.size(); ++k) {
          all.push_back({line[k], d, static_cast<std::int32_t>(kind), static_cast<std::int64_t>(k)});
        }
      }
    }
    std::sort(all.begin(), all.end());
    return all;
  }

  /// What every slot of every device holds, and the largest peak, which is the limit from now on.
  void prepare() {
    cells_.clear();
    stash_.clear();
    limit_ = 0;
    for (const DeviceSlots& device : devices_) {
      cells_.push_back(cells_of(device, kinds_));
      StashCount count;
      auto& curve = stash_.emplace_back();
      for (const std::int8_t cell : cells_.back()) {
        count.take(cell, weights_placed_);
        curve.push_back(count.now);
      }
      limit_ = std::max(limit_, count.peak);
    }
  }

  /// The first slot that the inputs of a pass allow.
  std::int64_t earliest(const PassVisit& visit) {
    const auto kind = at(visit.kind);
    std::int64_t after = kEmptySlot;
    if ((kind == 0 || kind == 2) && visit.device > 0) after = slots(visit.device - 1, kind)[at(visit.number)];
    if ((kind == 1 || kind == 3) && visit.device + 1 < size()) after = slots(visit.device + 1, kind)[at(visit.number)];
    if (kind > 0 && kind < kW) after = std::max(after, slots(visit.device, kind - 1)[at(visit.number)]);
    if (kind == kW) after = std::max(after, backward_slot(visit.device, visit.number));
    if (visit.number > 0) after = std::max(after, slots(visit.device, kind)[at(visit.number - 1)]);
    return after + 1;
  }

  /// Slot of the backward with that place in line on device d, both stages together.
  std::int64_t backward_slot(std::int32_t d, std::int64_t number) {
    const Slots& a = slots(d, 2);
    const Slots& b = slots(d, 3);
    std::size_t from_a = 0;
    std::size_t from_b = 0;
    std::int64_t slot = kEmptySlot;
    for (std::int64_t i = 0; i <= number; ++i) {
      const bool take_a = from_b == b.size() || (from_a < a.size() && a[from_a] < b[from_b]);
      slot = take_a ? a[from_a++] : b[from_b++];
    }
    return slot;
  }

  void move_earlier(const PassVisit& visit) {
    const std::int64_t first = earliest(visit);
    const std::int64_t to = weights_placed_ ? free_slot(visit, first) : free_slot_with_implied_weights(visit, first);
    if (to == visit.slot) return;
    auto& cells = cells_[at(visit.device)];
    cells[at(visit.slot)] = kEmptySlot;
    cells[at(to)] = static_cast<std::int8_t>(visit.kind);
    slots(visit.device, at(visit.kind))[at(visit.number)] = to;
    if (!weights_placed_) return;
    const std::int64_t change = is_forward_kind(visit.kind) ? 1 : visit.kind == static_cast<std::int32_t>(kW) ? -1 : 0;
    for (std::int64_t slot = to; slot < visit.slot; ++slot) stash_[at(visit.device)][at(slot)] += change;
  }

  /// The first idle slot in [first, slot of the pass) that keeps the stash within the limit; its own where there is
  /// none.
  std::int64_t free_slot(const PassVisit& visit, std::int64_t first) const {
    const auto& curve = stash_[at(visit.device)];
    std::int64_t begin = first;
    if (is_forward_kind(visit.kind)) {
      begin = visit.slot;
      while (begin > first && curve[at(begin - 1)] < limit_) --begin;
    }
    const auto& cells = cells_[at(visit.device)];
    while (begin < visit.slot && cells[at(begin)] != kEmptySlot) ++begin;
    return begin;
  }

  /// The same where idle slots stand for W, so that every move changes them.
  std::int64_t free_slot_with_implied_weights(const PassVisit& visit, std::int64_t first) {
    auto& cells = cells_[at(visit.device)];
    StashCount before;
    for (std::int64_t slot = 0; slot < first; ++slot) before.take(cells[at(slot)], false);
    for (std::int64_t to = first; to < visit.slot; ++to) {
      if (cells[at(to)] != kEmptySlot) continue;
      std::swap(cells[at(to)], cells[at(visit.slot)]);
      StashCount count = before;
      for (std::size_t slot = at(first); slot < cells.size(); ++slot) count.take(cells[slot], false);
      std::swap(cells[at(to)], cells[at(visit.slot)]);
      if (count.peak <= limit_) return to;
    }
    return visit.slot;
  }

  /// Every pass to the first slot after what it follows and what it needs.
  void squeeze() {
    std::vector<std::int64_t> last(devices_.size(), kEmptySlot);
    for (const PassVisit& visit : visits()) {
      const auto kind = at(visit.kind);
      std::int64_t after = last[at(visit.device)];
      if ((kind == 0 || kind == 2) && visit.device > 0) {
        after = std::max(after, slots(visit.device - 1, kind)[at(visit.number)]);
      }
      if ((kind == 1 || kind == 3) && visit.device + 1 < size()) {
        after = std::max(after, slots(visit.device + 1, kind)[at(visit.number)]);
      }
      last[at(visit.device)] = after + 1;
      slots(visit.device, kind)[at(visit.number)] = after + 1;
    }
  }

  std::int64_t m_;
  std::vector<DeviceSlots> devices_;
  bool weights_placed_ = false;
  std::size_t kinds_ = kW;
  std::vector<std::vector<std::int8_t>> cells_;   ///< by device, slot
  std::vector<std::vector<std::int64_t>> stash_;  ///< by device, after every slot; with W placed
  std::int64_t limit_ = 0;
};

}  // namespace

std::vector<VWord> greedy_v_words(const std::vector<VSlots>& block, std::int64_t num_microbatches) {
  GreedyGrid grid(block, num_microbatches);
  grid.reorder(true);
  grid.reorder(false);
  return grid.words();
}

}  // namespace plumb
