#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/sources/profile.hpp"
#include "models/stages/partition.hpp"
#include "schedules/document/action.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

/// Collects measurements of every stage from measured runs: durations by op, and the time from the arrival of a message
/// until its receiver continues.
class ProfileSamples {
 public:
  explicit ProfileSamples(std::size_t stages) : by_op_(stages), in_flight_(stages) {}

  /// Everything but the first `warm_microbatches` and the first update. `timeline` must have spans.
  void add(const Timeline& timeline, std::int64_t warm_microbatches);
  /// What another one collected of as many stages.
  void add(const ProfileSamples& other);
  /// Adds only the copies of a run with copies to the host and back.
  void add_copies(const Timeline& timeline, std::int64_t warm_microbatches);
  /// Microbatches between forward and backward at most, by stage.
  void set_in_flight(std::vector<std::int64_t> in_flight) { in_flight_ = std::move(in_flight); }

  /// Returns the time from the end of a message to the start of what waited for it.
  Measured hand_over() const;
  std::vector<ProfiledTimes> stages(const Partition& partition) const;

 private:
  Measured of(std::size_t stage, Op op) const;

  std::vector<std::array<std::vector<Ticks>, kOpCount>> by_op_;  ///< by stage
  std::vector<std::int64_t> in_flight_;                          ///< by stage
  std::vector<Ticks> hand_overs_;
};

}  // namespace plumb
