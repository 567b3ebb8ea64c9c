#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace plumb {

/// What the calls for a message of `bytes` take of the lanes of its sender and its receiver, in ns.
struct CallCosts {
  std::int64_t bytes = 0;
  std::int64_t send_ns = 0;         ///< a call that sends, while the receive is not posted
  std::int64_t send_posted_ns = 0;  ///< time of a call whose receive was posted before: the call moves bytes itself
  std::int64_t receive_ns = 0;      ///< a call that posts a receive

  friend bool operator==(const CallCosts&, const CallCosts&) = default;
};

/// What a runtime costs the compute lanes besides the actions themselves, in ns, on every device: the time of the
/// host's program, and of its calls that send and receive. All 0: nothing (sim/SPECIFICATION.md, §5.7).
struct RuntimeCosts {
  std::int64_t f_ns = 0;  ///< the host before the waits of an F or R
  std::int64_t b_ns = 0;
  std::int64_t i_ns = 0;
  std::int64_t w_ns = 0;
  std::vector<CallCosts> calls;  ///< by ascending bytes; empty: calls take no time

  friend bool operator==(const RuntimeCosts&, const RuntimeCosts&) = default;
};

/// Returns the calls for a message of `bytes`: every time as `time_at_size` has it between the sizes of `calls`.
CallCosts calls_of(std::span<const CallCosts> calls, std::int64_t bytes);

}  // namespace plumb
