#include "sim/contention_fit/overlap.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/rules/load_kinds.hpp"

namespace plumb {
namespace {

enum class What : std::uint8_t { kAction, kMessage, kCollective };

/// Something begins or ends.
struct Change {
  Ticks time = 0;
  std::int32_t by = 0;    ///< -1: ends, which comes first
  std::size_t which = 0;  ///< action, message, or the device of a collective
  What what = What::kAction;
};

std::optional<Load> kind_of(const Span& span) {
  return span.action.overlaps_next != 0 ? Load::kPair : load_of(span.action.op);
}

class OverlapMaker {
 public:
  explicit OverlapMaker(const Timeline& timeline)
      : timeline_(timeline),
        per_update_(std::max<std::int64_t>(1, timeline.num_microbatches / std::max<std::int64_t>(1, timeline.updates))),
        running_(timeline.devices.size()),
        messages_(timeline.devices.size()),
        collectives_(timeline.devices.size()) {}

  Overlap make() {
    for (std::size_t s = 0; s < timeline_.spans.size(); ++s) add(s);
    std::ranges::sort(
        changes_, [](const Change& a, const Change& b) { return a.time != b.time ? a.time < b.time : a.by < b.by; });
    Ticks now = 0;
    for (const Change& change : changes_) {
      if (change.time > now) add_interval(now, change.time);
      now = change.time;
      apply(change);
    }
    place_intervals();
    return std::move(overlap_);
  }

 private:
  struct Piece {
    std::size_t action = 0;
    OverlapInterval interval;
  };

  void add(std::size_t s) {
    const Span& span = timeline_.spans[s];
    if (span.start == span.end) return;
    if (span.lane == Lane::kTransfer) {
      add_changes(span, ends_.size(), What::kMessage);
      ends_.push_back({index(span.device), static_cast<std::size_t>(span.action.where)});
      return;
    }
    if (span.lane == Lane::kCollective) return add_changes(span, index(span.device), What::kCollective);
    const bool second =
        s > 0 && timeline_.spans[s - 1].action.overlaps_next != 0 && timeline_.spans[s - 1].device == span.device;
    const auto kind = kind_of(span);
    if (span.lane != Lane::kCompute || second || !kind) return;
    const auto number = static_cast<std::int64_t>(span.action.microbatch);
    add_changes(span, overlap_.actions.size(), What::kAction);
    overlap_.actions.push_back({.device = span.device,
                                .stage = span.action.stage,
                                .kind = *kind,
                                .update = *kind == Load::kU ? number : number / per_update_,
                                .ns = ns(span.end - span.start)});
  }

  void add_changes(const Span& span, std::size_t which, What what) {
    changes_.push_back({span.start, 1, which, what});
    changes_.push_back({span.end, -1, which, what});
  }

  double ns(Ticks ticks) const { return static_cast<double>(ticks) / static_cast<double>(timeline_.base.ticks_per_ns); }

  void apply(const Change& change) {
    if (change.what == What::kCollective) {
      collectives_[change.which] += change.by;
      return;
    }
    if (change.what == What::kMessage) {
      const auto [from, to] = ends_[change.which];
      messages_[from] += change.by;
      if (to != from && to < messages_.size()) messages_[to] += change.by;
      return;
    }
    const OverlappedAction& action = overlap_.actions[change.which];
    count_[static_cast<std::size_t>(action.kind)] += change.by;
    running_[index(action.device)] = change.by > 0 ? std::optional(change.which) : std::nullopt;
  }

  void add_interval(Ticks from, Ticks to) {
    const auto active = std::ranges::count_if(running_, [](const auto& action) { return action.has_value(); });
    overlap_.steps.push_back({.ns = ns(to - from), .active = static_cast<std::uint16_t>(active)});
    for (std::size_t d = 0; d < running_.size(); ++d) {
      if (!running_[d]) continue;
      Piece& piece = pieces_.emplace_back();
      piece.action = *running_[d];
      piece.interval.ns = ns(to - from);
      for (std::size_t k = 0; k < kComputeLoads; ++k) {
        const bool own = static_cast<std::size_t>(overlap_.actions[piece.action].kind) == k;
        piece.interval.others[k] = static_cast<std::uint16_t>(count_[k] - (own ? 1 : 0));
      }
      piece.interval.messages = static_cast<std::uint16_t>(messages_[d]);
      piece.interval.collectives = static_cast<std::uint16_t>(collectives_[d]);
      piece.interval.step = overlap_.steps.size() - 1;
    }
  }

  void place_intervals() {
    std::ranges::stable_sort(pieces_, {}, &Piece::action);
    std::size_t at = 0;
    for (std::size_t a = 0; a < overlap_.actions.size(); ++a) {
      overlap_.actions[a].first = at;
      for (; at < pieces_.size() && pieces_[at].action == a; ++at) overlap_.intervals.push_back(pieces_[at].interval);
      overlap_.actions[a].end = at;
    }
  }

  const Timeline& timeline_;
  std::int64_t per_update_;
  Overlap overlap_;
  std::vector<Change> changes_;
  std::vector<std::pair<std::size_t, std::size_t>> ends_;  ///< ends of messages: devices
  std::vector<std::optional<std::size_t>> running_;        ///< by device: its action
  std::vector<std::int32_t> messages_;                     ///< by device
  std::vector<std::int32_t> collectives_;                  ///< by device
  std::array<std::int32_t, kComputeLoads> count_{};
  std::vector<Piece> pieces_;
};

}  // namespace

bool OverlapInterval::alone() const {
  return messages == 0 && collectives == 0 && std::ranges::all_of(others, [](std::uint16_t n) { return n == 0; });
}

Overlap overlap_of(const Timeline& timeline) { return OverlapMaker(timeline).make(); }

}  // namespace plumb
