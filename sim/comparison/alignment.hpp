#pragma once

#include <vector>

#include "sim/timeline/timeline.hpp"

namespace plumb {

/// An action that both timelines ran.
struct SpanMatch {
  const Span* predicted = nullptr;
  const Span* measured = nullptr;
};

/// Which spans of two timelines are the same action. Points into both, which must outlive it.
struct Alignment {
  std::vector<SpanMatch> matches;           ///< pairs of compute and collective lanes
  std::vector<const Span*> only_predicted;  ///< compute actions without a match; no U and V where one side has none,
                                            ///< and nothing of devices that the other side does not know
  std::vector<const Span*> only_measured;

  /// Returns whether both ran the same compute actions on the same devices.
  bool complete() const { return !matches.empty() && only_predicted.empty() && only_measured.empty(); }
};

/// Returns whether it is recorded what the device did.
bool is_known(const Timeline& timeline, DeviceId device);

/// Matches actions by device, lane, text and, where it repeats, number of occurrence. Messages are not matched.
Alignment align(const Timeline& predicted, const Timeline& measured);

}  // namespace plumb
