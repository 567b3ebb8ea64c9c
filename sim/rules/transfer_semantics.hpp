#pragma once

#include <array>
#include <cstdint>

#include "models/cluster/cluster.hpp"
#include "models/ground/units.hpp"
#include "schedules/program/program.hpp"
#include "schedules/runnability/transfer_mode.hpp"
#include "schedules/runnability/transfer_order.hpp"
#include "sim/rules/sim_options.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

/// How messages travel, as exact rules in integer time. Both engines follow this text; nothing else decides.
///
/// ### Moments of a lane
/// `reach(i)`: end of the instr before `i` in its lane (0 for the first), in blocking mode not before every message
/// issued there is available. `post(i)`: `reach(i)`, but not before every send with `Transfer::sent == i` is done with.
/// `start(i)`: `post(i)`, but not before everything `i` waits for. An overlapped pair is one instr: it is reached,
/// posted and started once, for both members together, and both end together; issuing at a member is issuing at the
/// pair's end.
///
/// ### Host and calls
/// Where the runtime costs something (`Program::runtime`, §5.7): calls that send follow the end of a unit, one by one,
/// and delay `reach` of the next; each message is offered when its call begins. Each receive is posted at the end of a
/// call of its own, in order of place. The host's time of a unit comes after its posts, before its waits.
///
/// ### A message
/// 1. *offered*: buffered: end of `producer`; other modes: end of `issue`.
/// 2. *queue*: a channel serves one message at a time, in an order that is known before the run (`service_order`):
///    buffered: by `producer`, then by index; other modes: by index (the order of issue). Head of line: a message
///    that may not start yet holds up all that follow it.
/// 3. *start*: the latest of offered, the end of sending of the message before it in its channel and, except in
///    buffered and fifo modes, `post(Transfer::post)`. Half duplex: both directions of the pair are one server; of two
///    startable heads the one that could start first goes first, ties to the smaller index.
/// 4. *sending* occupies the channel for `sending_time` (bytes / bandwidth, rounded to the nearest tick, halves up). On
///    shared links it lasts longer: every link's bytes/s are split by progressive filling (sim/events/fair_share.hpp).
/// 5. *done*: sending is over, the last byte has left. The latency that follows occupies nobody.
/// 6. *available*: done + `latency_time`; instrs that wait for the message may start.
/// 7. *sent*: the sender's wait at `Transfer::sent` is over: done.
///
/// ### What blocking and batched add
/// Blocking: the lane stays at the end of `issue` until all messages issued there are available.
/// Batched: sends from A to B issued at a place of A's lane, and receives from B posted at that same place, form a
/// batch when there is at least one of each. Its receives are posted at `reach` of the place. The batch ends when all
/// its sends are done and all its receives have arrived (done + latency); only then are its sends *sent* and its
/// receives *available*. Channels are free at *done*, as ever. The other device's view of the same messages has batches
/// of its own.
///
/// ### What pair-fifo adds
/// Each device has one queue for each other device, of what it sends to it and receives from it: in order of the places
/// of its lane, at one place sends before receives, then by index. A message starts only when those in front of it in
/// the queues of both its ends are done. (One communicator for both directions, as NCCL's.)

/// Moments of one message (see above); for `sent` see RunTimes.
struct TransferTimes {
  Ticks start = 0;
  Ticks done = 0;
  Ticks available = 0;

  friend bool operator==(const TransferTimes&, const TransferTimes&) = default;
};

/// Bandwidth as both engines use it: whole bytes per second, at least 1; 0 means infinite.
std::int64_t whole_bytes_per_s(double bytes_per_s);

/// `bytes` over `bytes_per_s`, to the nearest tick, halves up. 0 when the bandwidth is infinite (0).
Ticks sending_time(std::int64_t bytes, std::int64_t bytes_per_s, Timebase base);

/// Returns the time on the narrowest part of the route, alone. Throws `Error` when it does not fit in 62 bits.
Ticks sending_time(std::int64_t bytes, const Route& route, Timebase base);

Ticks latency_time(const Route& route, Timebase base);

/// How a device's wait for a message splits by cause. The parts add up to the wait.
struct WaitSplit {
  Ticks compute = 0;  ///< the value does not exist yet
  Ticks queue = 0;  ///< not issued, not posted, queued after another message, slowed down by one, or held by its batch
  Ticks bandwidth = 0;  ///< being sent, at the speed it has when alone
  Ticks latency = 0;    ///< under way

  friend bool operator==(const WaitSplit&, const WaitSplit&) = default;
};

/// Splits the consumer's wait [`from`, `times.available`). Going back from the end: held by the batch is queue, then
/// the latency, then `alone` (the sending time when alone) is bandwidth, then queue back to `produced` (the end of
/// the producer), and compute before it.
WaitSplit split_receive_wait(Ticks from, const TransferTimes& times, Ticks produced, Ticks alone, Ticks latency);

/// Splits the sender's wait [`from`, `sent`) at `Transfer::sent` for a message that is `done`: as above without the
/// latency, and never compute.
WaitSplit split_send_wait(Ticks from, Ticks sent, Ticks done, Ticks alone);

/// Adds a split to the causes of a device (compute, transfer_queue, transfer_bandwidth, transfer_latency).
void add_to(std::array<Ticks, kIdleCauseCount>& causes, const WaitSplit& split);

/// Returns the cause with the largest part, for `Span::waited_for`; ties go to the earlier of latency, bandwidth,
/// queue, compute.
IdleCause main_cause(const WaitSplit& split);

}  // namespace plumb
