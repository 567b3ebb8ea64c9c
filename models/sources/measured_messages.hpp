#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "models/sources/profile.hpp"

namespace plumb {

/// What messages of one size took in a run.
struct MeasuredMessages {
  std::int64_t bytes = 0;  ///< 0: not known, as in a trace that does not say
  Measured send;           ///< a call that sends while the receive is not posted
  Measured send_posted;    ///< time of a send whose receive was posted before
  Measured receive;        ///< a call that posts a receive
  Measured message;  ///< alone: from the begin of the call that sends, or the post of the receive where that is later,
                     ///< to the arrival, where the receiver waited for most of it
  double capacity = 0;  ///< so many go at full speed beside each other; more share that; 0: any number

  friend bool operator==(const MeasuredMessages&, const MeasuredMessages&) = default;
};

/// What a message of one size is expected to take, in ns.
struct MessageTimes {
  std::int64_t send_ns = 0;
  std::int64_t send_posted_ns = 0;
  std::int64_t receive_ns = 0;
  std::int64_t message_ns = 0;
  double capacity = 0;
};

/// Returns what messages of `bytes` take: of measured sizes what was measured, between two of them linear, behind the
/// largest two along their line (a latency and a rate), below the smallest as the smallest. `sizes` are by ascending
/// bytes; with none of them everything is 0. Throws `Error` where one other size, or an unknown one, is all that was
/// measured.
MessageTimes message_times(std::span<const MeasuredMessages> sizes, std::int64_t bytes);

/// A message of a ping-pong between two otherwise idle devices: half of a round trip.
struct PingPong {
  std::int64_t bytes = 0;
  Measured time;
};

/// Returns a table of ping-pongs: CSV with a header that names `bytes` and `median_us`, and may name `p10_us` and
/// `p90_us`; other columns are not looked at. Of rows of the same size the one of median time counts. By ascending
/// bytes. Throws `Error` with the line.
std::vector<PingPong> ping_pong_from_csv(std::string_view text, std::string_view file_name);

/// Adds the sizes of `table` that `own` does not have: a message takes as much more (or less) than one of `own` as it
/// did in the ping-pong. Where `calls_move_bytes` a call that sends a message whose receive is posted takes that much
/// more, too, because it copies the bytes itself (gloo, MPI); the other calls take what they took. Throws `Error` where
/// the size of `own` is not known or the table does not reach it.
std::vector<MeasuredMessages> with_ping_pong(const MeasuredMessages& own, std::span<const PingPong> table,
                                             bool calls_move_bytes);

}  // namespace plumb
