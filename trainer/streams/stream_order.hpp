#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/streams/stream_machine.hpp"

namespace plumb {

/// Gives streams their records and waits, and leaves out waits that say nothing new: for what the stream knows to be
/// done already, by earlier waits of its own or of those that it has waited for. So every wait that is made is needed,
/// and a stream's queue is not filled with others.
class StreamOrder {
 public:
  /// No event: what is always done.
  static constexpr EventId kAlways{0xFFFFFFFFU};

  explicit StreamOrder(StreamMachine& machine) : machine_(machine) {}

  /// What stands on `stream` up to here.
  EventId record(StreamId stream);
  /// What follows on `stream` waits for all of `events`.
  void wait(StreamId stream, std::span<const EventId> events);
  /// Waits for the machine in the middle of a part: everything asked for so far is known to be done.
  void synchronize();
  /// The host has seen that `event` is done: so it is for all that follows.
  void see(EventId event);
  /// The machine has been waited for: the events may be used again, and those given out are `kAlways` from now on.
  void restart();

 private:
  using Clock = std::vector<std::uint32_t>;  ///< by stream: records that are known to be done
  struct Record {
    std::size_t stream = 0;
    Clock clock;  ///< what was known to be done; of its own stream, its own number
  };

  static void join(Clock& clock, const Clock& other);
  Clock& clock_of(std::size_t stream);
  const Record& record_of(EventId event) const { return records_[places_[static_cast<std::size_t>(event)]]; }
  static bool knows(const Clock& clock, const Record& record);

  StreamMachine& machine_;
  Clock host_;                       ///< what the host has waited for
  std::vector<Clock> clocks_;        ///< by stream
  std::vector<EventId> events_;      ///< made so far; the first `used_` are in use
  std::vector<std::size_t> places_;  ///< by event: into `records_`
  std::vector<Record> records_;
};

}  // namespace plumb
