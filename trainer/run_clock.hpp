#pragma once

#include <chrono>
#include <cstdint>

namespace plumb {

/// Nanoseconds since the run began, without its pauses (checkpoints being written).
class RunClock {
 public:
  using Clock = std::chrono::steady_clock;

  std::int64_t now_ns() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - origin_).count();
  }
  void restart() { origin_ = Clock::now(); }

  /// Time between `pause` and `resume` does not count. Only while no device runs.
  void pause() { paused_at_ = Clock::now(); }
  void resume() { origin_ += Clock::now() - paused_at_; }

 private:
  Clock::time_point origin_ = Clock::now();
  Clock::time_point paused_at_{};
};

}  // namespace plumb
