#pragma once

#include <chrono>
#include <cstdint>

#include "models/ground/units.hpp"

namespace plumb {

/// What a device of a run reads its times from, in ticks of the run's program.
class DeviceClock {
 public:
  virtual ~DeviceClock() = default;

  virtual Ticks now() const = 0;
  /// Returns when `now` is `moment` or later.
  virtual void sleep_until(Ticks moment) = 0;
  /// Whether messages and reductions take what the links of the program say, because the clock does not see how long
  /// they really take.
  virtual bool gives_times() const { return false; }

  /// While it lives, the calling thread works for the device (`works`), or waits for others.
  class Spell {
   public:
    Spell(DeviceClock& clock, bool works) : clock_(clock), before_(clock.set_working(works)) {}
    Spell(const Spell&) = delete;
    Spell& operator=(const Spell&) = delete;
    ~Spell() { clock_.set_working(before_); }

   private:
    DeviceClock& clock_;
    bool before_;
  };

 protected:
  DeviceClock() = default;
  DeviceClock(const DeviceClock&) = default;
  DeviceClock& operator=(const DeviceClock&) = default;

  /// Returns what was set before.
  virtual bool set_working(bool /*works*/) { return true; }
};

/// Time since the run began, without its pauses. It does not run until it is resumed.
///
/// Usually a tick is a nanosecond. The clock of a run whose times are given (`PaceOptions`) counts the ticks of their
/// costs, and may be slower than real time by a factor, as in time-dilated emulation (Gupta et al., NSDI 2006).
class RunClock final : public DeviceClock {
 public:
  explicit RunClock(double ticks_per_ns = 1) : ticks_per_ns_(ticks_per_ns) {}

  /// Returns the time of the clock that all run clocks of this machine use.
  static std::int64_t steady_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  Ticks now() const override;
  /// Returns the moment by `steady_ns`, rounded up.
  std::int64_t steady_ns_at(Ticks moment) const;
  /// Returns at `moment`, a few microseconds late at most on a processor that is free; at once when it is over.
  void sleep_until(Ticks moment) override;

  /// Goes back to 0, and does not run.
  void restart() { origin_ns_ = paused_at_ns_ = steady_ns(); }

  /// Time between `pause` and `resume` does not count. Only while no device runs.
  void pause() { paused_at_ns_ = steady_ns(); }
  void resume() { origin_ns_ += steady_ns() - paused_at_ns_; }

  /// Returns when the run began, by `steady_ns`; for clocks that several processes share.
  std::int64_t origin_ns() const { return origin_ns_; }
  void set_origin(std::int64_t origin_ns) { origin_ns_ = origin_ns; }

 private:
  double ticks_per_ns_;
  std::int64_t origin_ns_ = steady_ns();
  std::int64_t paused_at_ns_ = origin_ns_;
};

}  // namespace plumb
