#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/ground/units.hpp"

// Lanes that go on as far as they can. Whoever asks what becomes of lanes that wait for each other asks here: in which
// order they run, whether they end, when everything happens, what it adds up to.
//
// A lane takes its steps in order. A step needs things that other steps make, and nothing that has been made is ever
// undone. So a step that can be taken now can be taken later as well, and whatever lane goes first, all come equally
// far, with the same times.

namespace plumb {

/// How far ahead of its step a lane asks for memory: with hundreds of lanes taking turns the processor cannot guess.
inline constexpr std::size_t kStepsAhead = 16;

/// Moments that become known while lanes run, and the lanes that wait for them. A lane waits for one at a time.
///
/// A moment is known when it is above `kUnknownMoment`: then it is a time, or anything where times do not matter. It is
/// `kUnknownMoment` while nobody waits for it, otherwise it names the first lane that does; the others queue after that
/// lane. So a wait costs no memory, and everything is looked at again only when it can have changed.
template <class Moment, Moment kUnknownMoment = Moment{-1}>
class LaneRun {
 public:
  static constexpr Moment kUnknown = kUnknownMoment;

  explicit LaneRun(std::size_t lanes) : next_waiter_(lanes, kNobody), woken_(lanes) {}

  static bool is_known(Moment moment) { return moment > kUnknown; }

  /// Whether the lane must wait for the moment. If so, it goes on when the moment is `set`.
  bool waits(std::uint32_t lane, Moment& moment) {
    if (is_known(moment)) return false;
    next_waiter_[lane] = moment == kUnknown ? kNobody : first_waiter(moment);
    moment = kUnknown - 1 - static_cast<Moment>(lane);
    return true;
  }

  /// Makes the moment known and wakes the lanes that wait for it.
  void set(Moment& moment, Moment value) {
    const Moment before = moment;
    moment = value;
    if (before < kUnknown) wake_waiters(first_waiter(before));
  }

  /// Lets the lane go on. It must not wait for a moment, nor have been woken since it was taken last.
  void wake(std::uint32_t lane) { woken_[num_woken_++] = lane; }

  /// Lets all lanes go on, the first one first.
  void wake_all() {
    for (std::size_t lane = next_waiter_.size(); lane-- > 0;) wake(static_cast<std::uint32_t>(lane));
  }

  bool has_woken() const { return num_woken_ != 0; }

  /// The lane that was woken last.
  std::uint32_t take_woken() { return woken_[--num_woken_]; }

  /// Calls `advance(lane)`, which takes a lane as far as it gets, until no lane can go on.
  template <class Advance>
  void run(Advance&& advance) {
    while (has_woken()) advance(take_woken());
  }

 private:
  static constexpr std::uint32_t kNobody = 0xFFFFFFFFU;

  static std::uint32_t first_waiter(Moment moment) { return static_cast<std::uint32_t>(kUnknown - 1 - moment); }

  void wake_waiters(std::uint32_t lane) {
    for (; lane != kNobody; lane = next_waiter_[lane]) wake(lane);
  }

  std::vector<std::uint32_t> next_waiter_;  ///< by lane
  std::vector<std::uint32_t> woken_;        ///< as much room as there are lanes: a growing list cost 5 % of a run
  std::size_t num_woken_ = 0;
};

using TimedRun = LaneRun<Ticks>;

/// A run without times: a moment is known when it has come.
using UntimedRun = LaneRun<std::int32_t>;
inline constexpr std::int32_t kHasCome = 0;

/// The same for lanes whose steps have no moments to wait for: calls `step(lane)`, which does a lane's next step or
/// returns false, until no lane moves any more. Goes over the lanes there and back, as values travel through a
/// pipeline, so that a few rounds are enough.
template <class Step>
void run_in_turns(std::size_t lanes, Step&& step) {
  const auto advance = [&](std::size_t lane) {
    bool moved = false;
    while (step(lane)) moved = true;
    return moved;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t lane = 0; lane < lanes; ++lane) moved = advance(lane) || moved;
    for (std::size_t lane = lanes; lane-- > 0;) moved = advance(lane) || moved;
  }
}

}  // namespace plumb
