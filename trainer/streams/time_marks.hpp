#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "trainer/streams/stream_machine.hpp"

namespace plumb {

/// A moment of a stream, by its number in the part of the run.
enum class MarkId : std::uint32_t {};

/// Moments of streams that are asked for their times. An event whose time is known is used again, so a long part needs
/// as many as are under way.
class TimeMarks {
 public:
  /// Stands for no moment.
  static constexpr MarkId kNone{0xFFFFFFFFU};

  explicit TimeMarks(StreamMachine& machine) : machine_(machine) {}

  /// Returns the moment at which all work issued to `stream` so far is done.
  MarkId mark(StreamId stream);
  bool is_done(MarkId mark);
  /// Returns the time of the mark on `RunClock::steady_ns`. Requires `is_done(mark)`.
  std::int64_t time_ns(MarkId mark);
  /// A new part begins: marks given out earlier are invalid.
  void restart();

 private:
  /// So many may be under way before the machine is asked which of them are done.
  static constexpr std::size_t kMany = 4096;
  static constexpr std::size_t kEvery = 256;

  EventId event(MarkId mark) const { return under_way_[static_cast<std::size_t>(mark) - times_.size()]; }
  bool is_known(MarkId mark) const { return static_cast<std::size_t>(mark) < times_.size(); }
  void note_first();
  void note_done();

  StreamMachine& machine_;
  std::vector<std::int64_t> times_;  ///< times of the first marks
  std::deque<EventId> under_way_;    ///< events of the following marks
  std::vector<EventId> unused_;
};

}  // namespace plumb
