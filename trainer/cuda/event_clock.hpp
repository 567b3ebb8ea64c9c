#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

namespace plumb::cuda {

/// Times of events, where only the milliseconds between two of them are told, as a float (cudaEventElapsedTime): these
/// are exact to 0.06 us a second apart, but to 60 us only ten minutes apart. So anchors are set about every second, and
/// the time of an event is counted from the last anchor before it.
template <class Event>
class EventClock {
 public:
  /// Milliseconds from one event to a later one.
  using Elapsed = std::function<float(Event from, Event to)>;

  explicit EventClock(Elapsed elapsed) : elapsed_(std::move(elapsed)) {}

  /// The first anchor, which happened at `ns`.
  void restart(Event first, std::int64_t ns) { anchors_.assign(1, {first, static_cast<double>(ns)}); }
  /// One that is later than those before it.
  void add(Event anchor) { anchors_.push_back({anchor, ns_from(anchors_.back(), anchor)}); }

  /// Returns the time of an event after the first anchor.
  std::int64_t time_ns(Event event) const {
    const double about = ns_from(anchors_.front(), event) - kMargin;
    const auto later = std::ranges::upper_bound(anchors_, about, {}, &Anchor::ns);
    return std::llround(ns_from(later == anchors_.begin() ? anchors_.front() : *std::prev(later), event));
  }

 private:
  struct Anchor {
    Event event;
    double ns = 0;
  };
  /// More than a float of milliseconds is off after a day.
  static constexpr double kMargin = 2e7;

  double ns_from(const Anchor& anchor, Event event) const {
    return anchor.ns + static_cast<double>(elapsed_(anchor.event, event)) * 1e6;
  }

  Elapsed elapsed_;
  std::vector<Anchor> anchors_;
};

}  // namespace plumb::cuda
