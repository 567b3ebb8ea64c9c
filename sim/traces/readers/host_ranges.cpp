#include "sim/traces/readers/host_ranges.hpp"

#include <algorithm>
#include <string_view>

namespace plumb {
namespace {

auto first_from(const std::vector<const TraceRange*>& ranges, std::int64_t begin) {
  return std::ranges::lower_bound(ranges, begin, {}, [](const TraceRange* r) { return r->start_ns; });
}

/// Returns the first one in [begin, end].
const TraceRange* first_in(const std::vector<const TraceRange*>& ranges, std::int64_t begin, std::int64_t end) {
  const auto found = first_from(ranges, begin);
  return found == ranges.end() || (*found)->start_ns >= end ? nullptr : *found;
}

}  // namespace

bool is_wait(const TraceRange& range) {
  const std::string_view name = range.name;
  if (range.kind == RangeKind::kAnnotation) return name == "wait" || name == "gloo:recv";
  return range.kind == RangeKind::kOperator && name.starts_with("c10d::");
}

bool is_autograd(const TraceRange& range) {
  return range.kind == RangeKind::kOperator && range.name.starts_with("autograd::engine");
}

HostRanges::HostRanges(std::span<const TraceRange> ranges) {
  for (const TraceRange& range : ranges) {
    if (is_wait(range)) waits_.push_back(range.end_ns);
    if (range.kind == RangeKind::kAnnotation && range.name == "gloo:send") flights_.push_back(&range);
    if (range.kind != RangeKind::kOperator) continue;
    if (range.name == "c10d::send") sends_.push_back(&range);
    if (range.name == "c10d::recv_") receives_.push_back(&range);
    if (!is_wait(range) && range.name != "record_param_comms") operators_.push_back(&range);
  }
  std::ranges::sort(waits_);
}

std::int64_t HostRanges::last_wait(std::int64_t from, std::int64_t to) const {
  const auto after = std::ranges::upper_bound(waits_, to);
  return after == waits_.begin() ? from : std::max(from, *(after - 1));
}

std::pair<std::int64_t, std::int64_t> HostRanges::meeting(std::int64_t begin, std::int64_t end) const {
  auto backward = first_from(operators_, begin);
  std::int64_t forward_end = begin;
  while (backward != operators_.end() && (*backward)->start_ns < end && !is_autograd(**backward)) {
    forward_end = std::max(forward_end, (*backward)->end_ns);
    ++backward;
  }
  const bool found = backward != operators_.end() && (*backward)->start_ns < end;
  return {forward_end, found ? last_wait(forward_end, (*backward)->start_ns) : forward_end};
}

std::int64_t HostRanges::operator_time(std::int64_t begin, std::int64_t end) const {
  std::int64_t covered = begin;
  std::int64_t sum = 0;
  for (auto next = first_from(operators_, begin); next != operators_.end() && (*next)->start_ns < end; ++next) {
    const std::int64_t until = std::min(end, (*next)->end_ns);
    sum += std::max<std::int64_t>(0, until - std::max(covered, (*next)->start_ns));
    covered = std::max(covered, until);
  }
  return sum;
}

std::int64_t HostRanges::first_operator(std::int64_t begin, std::int64_t end) const {
  const auto found = first_from(operators_, begin);
  return found == operators_.end() ? end : std::min(end, (*found)->start_ns);
}

const TraceRange* HostRanges::first_send(std::int64_t begin, std::int64_t end) const {
  return first_in(sends_, begin, end);
}

const TraceRange* HostRanges::first_receive(std::int64_t begin, std::int64_t end) const {
  return first_in(receives_, begin, end);
}

std::optional<std::int64_t> HostRanges::send_waited(std::int64_t begin, std::int64_t end) const {
  std::optional<std::int64_t> waited;
  for (auto next = first_from(flights_, begin); next != flights_.end() && (*next)->start_ns <= end; ++next) {
    waited = std::max(waited.value_or((*next)->end_ns), (*next)->end_ns);
  }
  return waited;
}

}  // namespace plumb
