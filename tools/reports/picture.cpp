#include "tools/reports/picture.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <span>
#include <tuple>

namespace plumb {
namespace {

using BarPart = PictureSpan::Part;

/// Returns the spans of one device and lane, by start; partners of overlapped pairs get the interval of the pair.
std::vector<PictureSpan> drawn_spans(const Timeline& timeline, std::span<const std::size_t> indices) {
  std::vector<PictureSpan> drawn;
  drawn.reserve(indices.size());
  bool second = false;
  for (const std::size_t i : indices) {
    const Span& span = timeline.spans[i];
    drawn.push_back({.span = i, .start = span.start, .end = span.end});
    if (second) {
      PictureSpan& a = drawn[drawn.size() - 2];
      PictureSpan& b = drawn.back();
      a.start = b.start = std::min(a.start, b.start);
      a.end = b.end = std::max(a.end, b.end);
      a.part = BarPart::kUpperHalf;
      b.part = BarPart::kLowerHalf;
    }
    second = !second && span.action.overlaps_next != 0;
  }
  return drawn;
}

/// Puts every span on the first row that is free when it starts.
void place(PictureRow row, std::span<const PictureSpan> spans, std::vector<PictureRow>& rows) {
  const std::size_t first = rows.size();
  for (const PictureSpan& span : spans) {
    std::size_t r = first;
    while (r < rows.size() && !rows[r].spans.empty() && rows[r].spans.back().end > span.start) ++r;
    if (r == rows.size()) {
      row.overflow = static_cast<int>(r - first);
      rows.push_back(row);
    }
    rows[r].spans.push_back(span);
  }
}

/// The value that a compute span makes or reads, and what a message carries: `backward` for gradients.
struct PictureValue {
  std::int64_t microbatch = 0;
  std::int32_t stage = 0;
  std::int16_t replica = 0;
  std::int16_t slice = 0;
  bool backward = false;

  friend bool operator==(const PictureValue&, const PictureValue&) = default;
};

/// The first span of every value. Open addressing, since node by node this took half of the time of an arrow.
class SpanOf {
 public:
  /// `most`: values that come.
  explicit SpanOf(std::size_t most) : slots_(std::bit_ceil(2 * most + 1)) {}

  void add(const PictureValue& value, std::size_t span) {
    Slot& slot = slots_[slot_of(value)];
    if (slot.span == kNone) slot = {value, span};
  }

  std::optional<std::size_t> find(const PictureValue& value) const {
    const Slot& slot = slots_[slot_of(value)];
    return slot.span == kNone ? std::nullopt : std::optional(slot.span);
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  struct Slot {
    PictureValue value;
    std::size_t span = kNone;
  };

  static std::uint64_t hash(const PictureValue& value) {
    std::uint64_t h = static_cast<std::uint64_t>(value.microbatch) * 0x9E3779B97F4A7C15U;
    h ^= (static_cast<std::uint64_t>(static_cast<std::uint32_t>(value.stage)) << 20U) ^
         (static_cast<std::uint64_t>(static_cast<std::uint16_t>(value.replica)) << 4U) ^
         (static_cast<std::uint64_t>(static_cast<std::uint16_t>(value.slice)) << 44U) ^ (value.backward ? 1U : 0U);
    h *= 0xBF58476D1CE4E5B9U;
    return h ^ (h >> 32U);
  }

  /// Returns the slot of the value, or the empty one that it would take; at least half of them are empty.
  std::size_t slot_of(const PictureValue& value) const {
    const std::size_t last = slots_.size() - 1;
    std::size_t at = static_cast<std::size_t>(hash(value)) & last;
    while (slots_[at].span != kNone && !(slots_[at].value == value)) at = (at + 1) & last;
    return at;
  }

  std::vector<Slot> slots_;
};

PictureValue made_by(const Action& action, std::int64_t microbatch, bool backward) {
  return {.microbatch = microbatch,
          .stage = static_cast<std::int32_t>(action.stage),
          .replica = static_cast<std::int16_t>(action.replica),
          .slice = action.slice,
          .backward = backward};
}

bool makes_value(Op op) { return op == Op::kF || is_backward(op); }
bool carries_value(Op op) { return op == Op::kSendF || op == Op::kSendB; }

/// Finds who made or sent the value that a span reads.
class ValueSources {
 public:
  explicit ValueSources(const Timeline& timeline)
      : timeline_(timeline), made_(values(timeline, makes_value)), sent_(values(timeline, carries_value)) {
    for (std::size_t i = 0; i < timeline.spans.size(); ++i) {
      const Action& action = timeline.spans[i].action;
      if (!makes_value(action.op) && !carries_value(action.op)) continue;
      SpanOf& map = carries_value(action.op) ? sent_ : made_;
      for (int k = 0; k <= action.merged; ++k) {
        map.add(made_by(action, static_cast<std::int64_t>(action.microbatch) + k, is_downward(action.op)), i);
      }
    }
  }

  /// Returns the span that `reader` has its value from, if that came from another span over a device's edge.
  std::optional<std::size_t> source(const Span& reader) const {
    const bool downward = is_downward(reader.action.op);
    PictureValue key = made_by(reader.action, static_cast<std::int64_t>(reader.action.microbatch), downward);
    if (carries_value(reader.action.op)) return made_.find(key);
    if (!makes_value(reader.action.op)) return std::nullopt;
    key.stage += downward ? 1 : -1;
    const std::optional<std::size_t> maker = made_.find(key);
    if (!maker || timeline_.spans[*maker].device == reader.device) return std::nullopt;
    const std::optional<std::size_t> message = sent_.find(key);
    const bool takes_time = message && timeline_.spans[*message].end > timeline_.spans[*message].start;
    return takes_time ? message : maker;
  }

 private:
  static bool is_downward(Op op) { return is_backward(op) || op == Op::kSendB; }

  static std::size_t values(const Timeline& timeline, bool (*counts)(Op)) {
    std::size_t sum = 0;
    for (const Span& span : timeline.spans) {
      if (counts(span.action.op)) sum += 1 + static_cast<std::size_t>(span.action.merged);
    }
    return sum;
  }

  const Timeline& timeline_;
  SpanOf made_;
  SpanOf sent_;
};

}  // namespace

std::vector<PictureRow> picture_rows(const Timeline& timeline) {
  std::map<std::tuple<DeviceId, Lane, Op>, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < timeline.spans.size(); ++i) {
    const Span& span = timeline.spans[i];
    groups[{span.device, span.lane, span.lane == Lane::kTransfer ? span.action.op : Op{}}].push_back(i);
  }
  std::vector<PictureRow> rows;
  for (const auto& [key, indices] : groups) {
    const auto& [device, lane, op] = key;
    place({.device = device, .lane = lane, .op = op, .overflow = 0, .spans = {}}, drawn_spans(timeline, indices), rows);
  }
  return rows;
}

std::vector<IdleGap> idle_gaps(const Timeline& timeline) {
  std::vector<Ticks> free_from(timeline.devices.size(), 0);
  std::vector<IdleGap> gaps;
  for (const Span& span : timeline.spans) {
    if (span.lane != Lane::kCompute) continue;
    Ticks& from = free_from[index(span.device)];
    if (span.start > from) {
      gaps.push_back({span.device, from, span.start, from == 0 ? IdleCause::kWarmup : span.waited_for});
    }
    from = std::max(from, span.end);
  }
  for (std::size_t d = 0; d < free_from.size(); ++d) {
    if (free_from[d] >= timeline.makespan || !timeline.devices[d].known) continue;
    gaps.push_back({DeviceId(static_cast<std::int32_t>(d)), free_from[d], timeline.makespan, IdleCause::kDrain});
  }
  std::stable_sort(gaps.begin(), gaps.end(), [](const IdleGap& a, const IdleGap& b) {
    return std::tie(a.device, a.start) < std::tie(b.device, b.start);
  });
  return gaps;
}

std::vector<PictureArrow> picture_arrows(const Timeline& timeline) {
  const ValueSources sources(timeline);
  std::vector<PictureArrow> arrows;
  for (std::size_t to = 0; to < timeline.spans.size(); ++to) {
    const std::optional<std::size_t> from = sources.source(timeline.spans[to]);
    if (from && timeline.spans[*from].end <= timeline.spans[to].start) arrows.push_back({*from, to});
  }
  return arrows;
}

std::string action_label(const Action& action) {
  std::string label(kOpNames[static_cast<std::size_t>(action.op)]);
  label += " s" + std::to_string(index(action.stage));
  const auto number = static_cast<std::int32_t>(action.microbatch);
  if (action.op == Op::kU || action.op == Op::kV || action.op == Op::kX) {
    label += " #" + std::to_string(number);
  } else if (number >= 0 && !is_collective(action.op)) {
    label += " m" + std::to_string(number);
    for (int k = 1; k <= action.merged; ++k) label += "+" + std::to_string(number + k);
  }
  if (action.slice != Action::kAllSlices) label += "." + std::to_string(action.slice);
  if (action.replica != ReplicaId{}) label += " r" + std::to_string(static_cast<int>(action.replica));
  return label;
}

}  // namespace plumb
