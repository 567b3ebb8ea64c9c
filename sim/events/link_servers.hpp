#pragma once

#include <cstdint>
#include <vector>

#include "schedules/program/lane_run.hpp"
#include "schedules/program/program.hpp"
#include "sim/events/compute_share.hpp"
#include "sim/events/event_queue.hpp"
#include "sim/events/fair_share.hpp"
#include "sim/rules/run_times.hpp"
#include "sim/rules/transfer_semantics.hpp"

namespace plumb {

/// The links of a run of the event engine: every channel serves its messages one at a time in their order; both
/// directions of a half-duplex pair take turns; shared links are divided among those that send over them.
///
/// In pair-fifo mode both directions of a pair are one queue.
/// The link of channel c is slot num_devices + c of the queue; its event is the end of sending.
class LinkServers {
 public:
  LinkServers(const Program& program, TransferMode mode, EventQueue& queue, TimedRun& run, RunTimes& times);

  /// From now on `compute` is told which messages are being sent.
  void tell(ComputeShare& compute) { compute_ = &compute; }

  /// The message may be sent as far as the sender is concerned. A channel serves its messages in the order of these
  /// calls.
  void offer(std::uint32_t channel, std::uint32_t transfer, Ticks now) {
    queued_[servers_[channel].offered++] = transfer;
    try_start(channel, now);
  }

  /// The receive of the channel's next message is posted: they are posted in the order in which messages are offered.
  void post(std::uint32_t channel, Ticks now) {
    const std::uint32_t place = servers_[channel].posted++;
    if (!posted_at_.empty()) posted_at_[place] = now;
    try_start(channel, now);
  }

  /// Whether the receive of the message that the channel is offered next was posted before `now`; always where receives
  /// need not be posted. Requires calls that occupy lanes.
  bool was_posted(std::uint32_t channel, Ticks now) const {
    const Server& server = servers_[channel];
    return server.offered < server.posted && posted_at_[server.offered] < now;
  }

  /// The channel's message has been sent: its moments become known and the next one may start. Returns the message.
  std::uint32_t finish(std::uint32_t channel, Ticks now);

  /// Lets half-duplex links choose and divides shared links, after everything else of this moment.
  void update(Ticks now);

  bool is_up_to_date() const { return open_pairs_.empty() && shares_.is_up_to_date(); }

  const Batches& batches() const { return batches_; }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;

  struct Server {
    std::uint32_t next = 0;          ///< into the service order, as are `offered`, `posted` and `end`
    std::uint32_t offered = 0;       ///< one past the last message that is offered
    std::uint32_t posted = 0;        ///< one past the last one whose receive is posted
    std::uint32_t sending = kNone;   ///< the message under way
    std::uint32_t mate = kNone;      ///< half duplex: the channel of the other direction
    std::uint32_t opposite = kNone;  ///< pair-fifo mode: the channel of the other direction
    bool shared = false;
    bool half_duplex = false;
    Ticks may_start = TimedRun::kUnknown;  ///< half duplex: since when the head could start
    Ticks latency = 0;
    std::int64_t last_bytes = -1;  ///< messages of a channel mostly have one size: its sending time is kept
    Ticks last_sending = 0;
  };

  struct BatchState {
    std::uint32_t missing = 0;
    Ticks end = 0;
  };

  void find_opposites();
  void group_batches();
  /// Starts the channel's next message when nothing prevents it.
  void try_start(std::uint32_t channel, Ticks now) {
    const Server& server = servers_[channel];
    if (server.sending != kNone || server.next >= server.offered || server.next >= server.posted) return;
    if (!done_.empty() && !is_first(queued_[server.next])) return;
    start(channel, now);
  }
  /// Pair-fifo mode: everything in front of the message at both its ends is done.
  bool is_first(std::uint32_t transfer) const {
    const std::uint32_t send = queues_.before_send[transfer];
    const std::uint32_t receive = queues_.before_receive[transfer];
    return (send == PairQueues::kNone || done_[send]) && (receive == PairQueues::kNone || done_[receive]);
  }
  void start(std::uint32_t channel, Ticks now);
  void choose(std::uint32_t channel, Ticks now);
  void begin(std::uint32_t channel, Ticks now);
  void complete_in_batch(std::uint32_t batch, Ticks at);

  const Program& program_;
  EventQueue& queue_;
  std::uint32_t first_slot_;
  TimedRun& run_;
  RunTimes& times_;
  ComputeShare* compute_ = nullptr;
  std::vector<std::uint32_t> queued_;  ///< messages by channel, in the order of their offers
  std::vector<Server> servers_;        ///< by channel
  FairShare shares_;
  std::vector<std::uint32_t> open_pairs_;  ///< half-duplex channels that may have something to choose
  PairQueues queues_;
  std::vector<bool> done_;        ///< by message; empty where there are no queues of pairs
  std::vector<Ticks> posted_at_;  ///< by place in the service order; empty where nobody asks
  Batches batches_;
  IndexLists batch_sends_;
  IndexLists batch_receives_;
  std::vector<BatchState> batch_states_;
};

}  // namespace plumb
