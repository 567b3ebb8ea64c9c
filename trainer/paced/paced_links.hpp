#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "schedules/program/lane_run.hpp"
#include "schedules/program/program.hpp"
#include "schedules/runnability/transfer_mode.hpp"
#include "sim/events/event_queue.hpp"
#include "sim/events/link_servers.hpp"
#include "sim/rules/run_times.hpp"
#include "sim/rules/transfer_notes.hpp"
#include "trainer/ground/run_clock.hpp"
#include "trainer/transport/mailbox.hpp"

namespace plumb {

/// Links that take their given time in a real run, in every transfer mode: the simulator's own links
/// (sim/events/link_servers.hpp), to which devices say by the run's clock what they offer and post. So the moments of a
/// message follow from real moments by exact rules, and do not depend on when a thread comes to look at them.
/// Thread-safe: every device calls from its own thread.
class PacedLinks {
 public:
  /// All must outlive this. Waits end with `RunAborted` when `mailbox` was stopped.
  PacedLinks(const Program& program, TransferMode mode, RunClock& clock, const Mailbox& mailbox);

  /// The document starts again, or continues from a cut: messages across it have arrived.
  void restart(std::span<const InstrIndex> positions);
  /// Call these around every part of the run.
  void begin() {
    timer_ = std::jthread([this](const std::stop_token& stop) { keep_time(stop); });
  }
  /// `times` gets the moments of copies, for which no device waits by name.
  void end(RunTimes& times);

  /// The lane of `device` comes to the unit [`at`, `behind`); returns when its receives are posted, and what it waits
  /// for before that (sends, in blocking mode its own messages) and its copies are over.
  void reach(DeviceId device, InstrIndex at, InstrIndex behind);
  /// The lane has ended everything before `behind`: offers its messages.
  void leave(DeviceId device, InstrIndex behind);
  /// Waits until the message is there.
  TransferTimes await(std::uint32_t transfer);

  /// Between processes: `tell` says to the sender of a message that its receive was posted at a moment.
  void tell_posts(std::function<void(std::uint32_t transfer, Ticks moment)> tell) { tell_post_ = std::move(tell); }
  /// What another process has offered to a device of this one, or posted for one, at `moment`.
  void offered(std::uint32_t transfer, Ticks moment);
  void posted(std::uint32_t transfer, Ticks moment);

 private:
  /// Notes of a lane that are dealt with.
  struct Cursor {
    std::uint32_t own = 0;  ///< first offer of the unit before
    std::uint32_t offer = 0;
    std::uint32_t send = 0;
    std::uint32_t post = 0;
  };
  using Lock = std::unique_lock<std::mutex>;

  void keep_time(const std::stop_token& stop);
  void advance(Ticks now);
  void offer(std::uint32_t channel, std::uint32_t transfer, Ticks moment);
  void post(std::uint32_t channel, Ticks moment);
  void post(Lock& lock, Cursor& cursor, InstrIndex behind, bool batched);
  void await(Lock& lock, std::uint32_t lane, Ticks& moment);
  DeviceId receiver(std::uint32_t transfer) const { return program_.channels[program_.transfers[transfer].channel].to; }

  const Program& program_;
  TransferMode mode_;
  RunClock& clock_;
  const Mailbox& mailbox_;
  std::function<void(std::uint32_t, Ticks)> tell_post_;
  std::mutex mutex_;
  RunTimes times_;
  std::optional<EventQueue> queue_;
  std::optional<TimedRun> run_;
  std::optional<LinkServers> links_;
  LaneNotes notes_;
  std::vector<Cursor> cursors_;                ///< by device
  std::vector<std::uint32_t> pair_;            ///< by channel: the first channel between the same two devices
  std::vector<Ticks> free_since_;              ///< by pair: the last end of sending
  std::deque<std::condition_variable> woken_;  ///< by device
  std::condition_variable_any rescheduled_;    ///< the first event of the queue may be another one
  std::jthread timer_;                         ///< lets messages end at their time
};

}  // namespace plumb
