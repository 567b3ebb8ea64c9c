#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/traces/readers/rank_trace.hpp"

namespace plumb {

/// Returns whether the program waits while this range lasts: an annotation `wait` or `gloo:recv`, or an operator of
/// c10d.
bool is_wait(const TraceRange& range);

/// Returns whether the backward runs in this range.
bool is_autograd(const TraceRange& range);

/// The waits and operators of a rank's host, so that those inside another range are found quickly. Refers to the ranges
/// that it was made of.
class HostRanges {
 public:
  explicit HostRanges(std::span<const TraceRange> ranges);

  /// Returns the end of the last wait that ends from `from` to `to`; `from` where none does.
  std::int64_t last_wait(std::int64_t from, std::int64_t to) const;

  /// Returns where the halves of an overlapped pair inside [begin, end] meet: the end of the first half's last
  /// operator, and the begin of the backward, after the waits before it.
  std::pair<std::int64_t, std::int64_t> meeting(std::int64_t begin, std::int64_t end) const;

  /// Returns for how long of [begin, end] some operator ran.
  std::int64_t operator_time(std::int64_t begin, std::int64_t end) const;

  /// Returns the begin of the first operator in [begin, end]; `end` where there is none.
  std::int64_t first_operator(std::int64_t begin, std::int64_t end) const;

  /// Returns the first call of c10d that sends in [begin, end]; null where there is none.
  const TraceRange* first_send(std::int64_t begin, std::int64_t end) const;

  /// Returns the first call of c10d that receives in [begin, end]; null where there is none.
  const TraceRange* first_receive(std::int64_t begin, std::int64_t end) const;

  /// Returns when the program's wait for what the calls in [begin, end] sent was over: the end of their last range
  /// `gloo:send`; nothing where there is none.
  std::optional<std::int64_t> send_waited(std::int64_t begin, std::int64_t end) const;

 private:
  std::vector<std::int64_t> waits_;           ///< ends, ascending
  std::vector<const TraceRange*> operators_;  ///< but those of c10d, by start
  std::vector<const TraceRange*> sends_;      ///< by start
  std::vector<const TraceRange*> receives_;   ///< by start
  std::vector<const TraceRange*> flights_;    ///< `gloo:send`, by start
};

}  // namespace plumb
