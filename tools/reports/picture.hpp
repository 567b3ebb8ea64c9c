#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/timeline/timeline.hpp"

namespace plumb {

/// One span as a picture draws it. The members of an overlapped pair share the pair's interval and half a row each.
struct PictureSpan {
  enum class Part : std::uint8_t { kWhole, kUpperHalf, kLowerHalf };

  std::size_t span = 0;  ///< into `Timeline::spans`
  Ticks start = 0;
  Ticks end = 0;
  Part part = Part::kWhole;

  friend bool operator==(const PictureSpan&, const PictureSpan&) = default;
};

/// Spans that never overlap each other, by start: what fits on one row. Transfers have rows by direction, and whatever
/// still runs at the same time goes to further rows of the same name.
struct PictureRow {
  DeviceId device{};
  Lane lane = Lane::kCompute;
  Op op{};           ///< op of all its spans, in the transfer lane
  int overflow = 0;  ///< 0 for the first row of its name
  std::vector<PictureSpan> spans;

  friend bool operator==(const PictureRow&, const PictureRow&) = default;
};

/// Calls `draw(span, left, right)` for the spans of a row that can be seen where a tick is `scale` long: of those
/// shorter than `hair` one is left out while it ends within a hair of the one drawn before.
template <class Draw>
void each_visible(const PictureRow& row, double scale, double hair, Draw&& draw) {
  double drawn_to = -1;
  for (const PictureSpan& span : row.spans) {
    const double left = static_cast<double>(span.start) * scale;
    const double right = static_cast<double>(span.end) * scale;
    if (right <= left || (right - left < hair && right < drawn_to + hair)) continue;
    drawn_to = right;
    draw(span, left, right);
  }
}

/// Time in which a device's compute lane is empty, inside [0, makespan].
struct IdleGap {
  DeviceId device{};
  Ticks start = 0;
  Ticks end = 0;
  IdleCause cause{};  ///< the main one

  friend bool operator==(const IdleGap&, const IdleGap&) = default;
};

/// A value on its way between devices: from the compute span that made it to its transfer, from there to the compute
/// span that reads it; directly where transfers are latencies. Both index `Timeline::spans`.
struct PictureArrow {
  std::size_t from = 0;
  std::size_t to = 0;

  friend bool operator==(const PictureArrow&, const PictureArrow&) = default;
};

/// Rows by device: compute (two when it has overlapped pairs), transfers by direction, collectives.
std::vector<PictureRow> picture_rows(const Timeline& timeline);

/// Gaps of all devices, by device and start.
std::vector<IdleGap> idle_gaps(const Timeline& timeline);

/// Lists arrows, at most one to a span, in the order of these. Along the chain of stages, forwards up and backwards
/// down.
std::vector<PictureArrow> picture_arrows(const Timeline& timeline);

/// Name of an action that sorts and colours well in viewers: `F s3 m7`, `F s3 m7.2 r1` with slice and replica.
std::string action_label(const Action& action);

}  // namespace plumb
