#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace plumb {

/// How long nothing has been heard of another process, by a clock that the caller reads. Time in which the caller
/// itself stood still (stopped in a debugger, a machine that slept) does not count: it could not have heard anything.
class PeerWatch {
 public:
  /// A process that waits for a peer says so this often ...
  static constexpr std::chrono::nanoseconds kBeat = std::chrono::seconds(1);

  /// ... and is given up after so long a silence. `now` is nanoseconds of a clock that goes steadily.
  PeerWatch(std::chrono::nanoseconds patience, std::int64_t now)
      : patience_(patience.count()), looked_(now), beaten_(now) {}

  std::chrono::nanoseconds patience() const { return std::chrono::nanoseconds(patience_); }

  /// Something came from the peer.
  void heard() { silence_ = 0; }

  /// Returns whether it is time to tell the other neighbour that this process is alive; then it counts as told.
  bool beat_is_due(std::int64_t now) {
    if (now - beaten_ < kBeat.count()) return false;
    beaten_ = now;
    return true;
  }

  /// Returns whether the peer has been silent for too long. To be asked at least once per beat.
  bool is_lost(std::int64_t now) {
    silence_ += std::min(now - looked_, 2 * kBeat.count());
    looked_ = now;
    return silence_ > patience_;
  }

 private:
  std::int64_t patience_;
  std::int64_t looked_;
  std::int64_t beaten_;
  std::int64_t silence_ = 0;
};

}  // namespace plumb
