#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/ground/units.hpp"
#include "trainer/ground/run_clock.hpp"

namespace plumb {

/// What the time of a run is.
enum class ClockKind : std::uint8_t {
  kWall,      ///< real time, the same for all devices
  kProcessor  ///< every device has its own: the time for which a processor worked for it, and its waits
};

/// Returns the words that results say of the clock after the machine; empty for real time.
constexpr std::string_view clock_words(ClockKind kind) {
  return kind == ClockKind::kProcessor ? ", each device by its own processor time" : "";
}

/// The clock of a device whose thread shares processors with other threads and programs. It advances by the processor
/// time that the thread uses while it works, and jumps to the end of every wait. So devices have the times that they
/// would have if each had a processor of its own (as simulations of MPI programs have it that really run them: SMPI,
/// Clauss et al., IPDPS 2011). One thread at a time.
class ProcessorClock : public DeviceClock {
 public:
  Ticks now() const override { return works_ ? shown_ + processor_ns() - since_ : shown_; }
  void sleep_until(Ticks moment) override;
  bool gives_times() const override { return true; }
  void restart() { shown_ = 0; }

 protected:
  bool set_working(bool works) override;

 private:
  static std::int64_t processor_ns();

  Ticks shown_ = 0;  ///< when `works_` changed last
  bool works_ = false;
  std::int64_t since_ = 0;  ///< processor time of the thread at that moment
};

/// The clocks of the devices of a run.
class RunClocks {
 public:
  RunClocks(ClockKind kind, std::int32_t devices, double ticks_per_ns)
      : wall_(ticks_per_ns), own_(kind == ClockKind::kProcessor ? static_cast<std::size_t>(devices) : 0) {}

  DeviceClock& of(std::size_t device) { return own_.empty() ? static_cast<DeviceClock&>(wall_) : own_[device]; }
  /// Returns whether messages and reductions take what the links of the program say, and not what they really take.
  bool gives_times() const { return !own_.empty(); }
  /// Returns the clock of real time.
  RunClock& wall() { return wall_; }
  /// All clocks go back to 0. Only while no device runs.
  void restart();

 private:
  RunClock wall_;
  std::vector<ProcessorClock> own_;  ///< by device; empty: real time
};

}  // namespace plumb
