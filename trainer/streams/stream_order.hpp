#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "trainer/streams/stream_machine.hpp"

namespace plumb {

/// Issues the records and waits of streams. It leaves out a wait for work that the stream knows to be done, from
/// earlier waits of its own or of the streams that it has waited for. So every wait that is issued is needed.
///
/// The events that it gives out are numbers of records. The machine's events behind them are used again once the host
/// has seen that they are done, so a long part needs as many as are under way.
class StreamOrder {
 public:
  /// Stands for an event that is always done.
  static constexpr EventId kAlways{0xFFFFFFFFU};

  explicit StreamOrder(StreamMachine& machine) : machine_(machine) {}

  /// Records an event on `stream`: it is done when all work issued to the stream so far is.
  EventId record(StreamId stream);
  /// Work that is issued to `stream` from now on waits for all of `events`.
  void wait(StreamId stream, std::span<const EventId> events);
  /// Returns whether the work before the record is done. Asked of the machine, whose streams need not know it yet.
  bool is_done(EventId event);
  /// Synchronizes the machine in the middle of a part: all work issued so far is known to be done.
  void synchronize();
  /// The host has seen that `event` is done, so no later work needs to wait for it.
  void see(EventId event);
  /// Call after the machine has been synchronized: events may be used again, and those given out earlier are invalid.
  void restart();

 private:
  using Clock = std::vector<std::uint32_t>;  ///< by stream: records that are known to be done
  /// So many records may be under way before the machine is asked which of them are done.
  static constexpr std::size_t kMany = 4096;
  static constexpr std::size_t kEvery = 256;

  struct Record {
    EventId event{};  ///< event of the machine
    std::size_t stream = 0;
    Clock clock;  ///< what was known to be done; of its own stream, its own number
  };

  static void join(Clock& clock, const Clock& other);
  Clock& clock_of(std::size_t stream);
  const Record& record_of(EventId event) const { return records_[static_cast<std::size_t>(event) - seen_]; }
  /// Every stream knows that it is done.
  bool is_old(EventId event) const { return event == kAlways || static_cast<std::size_t>(event) < seen_; }
  static bool knows(const Clock& clock, const Record& record);
  void see(const Record& record);
  void forget_done();

  StreamMachine& machine_;
  Clock host_;                 ///< what the host has waited for
  std::vector<Clock> clocks_;  ///< by stream
  std::size_t seen_ = 0;       ///< records before these
  std::deque<Record> records_;
  std::vector<EventId> unused_;  ///< events of the machine that nothing uses
};

}  // namespace plumb
