#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/streams/stream_machine.hpp"

namespace plumb {

/// Issues the records and waits of streams. It leaves out a wait for work that the stream knows to be done, from
/// earlier waits of its own or of the streams that it has waited for. So every wait that is issued is needed.
class StreamOrder {
 public:
  /// Stands for an event that is always done.
  static constexpr EventId kAlways{0xFFFFFFFFU};

  explicit StreamOrder(StreamMachine& machine) : machine_(machine) {}

  /// Records an event on `stream`: it is done when all work issued to the stream so far is.
  EventId record(StreamId stream);
  /// Work that is issued to `stream` from now on waits for all of `events`.
  void wait(StreamId stream, std::span<const EventId> events);
  /// Synchronizes the machine in the middle of a part: all work issued so far is known to be done.
  void synchronize();
  /// The host has seen that `event` is done, so no later work needs to wait for it.
  void see(EventId event);
  /// Call after the machine has been synchronized: events may be used again, and those given out earlier are invalid.
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
