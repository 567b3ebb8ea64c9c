#pragma once

#include <cstdint>
#include <vector>

#include "models/ground/units.hpp"

namespace plumb {

/// Moments that become known while a run goes on, and the lanes that wait for them. A lane waits for one at a time.
///
/// An unknown moment is negative: `kUnknown` while nobody waits, otherwise it names the first lane that does; the
/// others queue after that lane. So a wait costs no memory.
class Moments {
 public:
  static constexpr Ticks kUnknown = -1;

  explicit Moments(std::size_t lanes) : next_waiter_(lanes, kNobody) {}

  static bool is_known(Ticks moment) { return moment >= 0; }

  void wait(std::uint32_t lane, Ticks& moment) {
    next_waiter_[lane] = moment == kUnknown ? kNobody : first_waiter(moment);
    moment = kUnknown - 1 - static_cast<Ticks>(lane);
  }

  /// Makes the moment known and wakes the lanes that wait for it.
  void set(Ticks& moment, Ticks value) {
    const Ticks before = moment;
    moment = value;
    if (before >= kUnknown) return;
    for (std::uint32_t lane = first_waiter(before); lane != kNobody; lane = next_waiter_[lane]) woken_.push_back(lane);
  }

  bool has_woken() const { return !woken_.empty(); }

  std::uint32_t take_woken() {
    const std::uint32_t lane = woken_.back();
    woken_.pop_back();
    return lane;
  }

 private:
  static constexpr std::uint32_t kNobody = 0xFFFFFFFFU;

  static std::uint32_t first_waiter(Ticks moment) { return static_cast<std::uint32_t>(kUnknown - 1 - moment); }

  std::vector<std::uint32_t> next_waiter_;  ///< by lane
  std::vector<std::uint32_t> woken_;
};

}  // namespace plumb
