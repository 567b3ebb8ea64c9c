#pragma once

#include <chrono>
#include <cstdint>

namespace plumb {

/// Nanoseconds since the run began, without its pauses. It does not run until it is resumed.
class RunClock {
 public:
  /// The time of the clock that all run clocks of this machine use.
  static std::int64_t steady_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  std::int64_t now_ns() const { return steady_ns() - origin_ns_; }
  /// Goes back to 0, and does not run.
  void restart() { origin_ns_ = paused_at_ns_ = steady_ns(); }

  /// Time between `pause` and `resume` does not count. Only while no device runs.
  void pause() { paused_at_ns_ = steady_ns(); }
  void resume() { origin_ns_ += steady_ns() - paused_at_ns_; }

  /// When the run began, by `steady_ns`; for clocks that several processes share.
  std::int64_t origin_ns() const { return origin_ns_; }
  void set_origin(std::int64_t origin_ns) { origin_ns_ = origin_ns; }

 private:
  std::int64_t origin_ns_ = steady_ns();
  std::int64_t paused_at_ns_ = origin_ns_;
};

}  // namespace plumb
