#include "sim/traces/readers/megatron_work.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

constexpr std::array<std::string_view, 3> kForwardNames{"forward-compute", "forward_step", "forward-step"};
constexpr std::array<std::string_view, 3> kBackwardNames{"backward-compute", "backward_step", "backward-step"};

/// What Megatron-LM calls between stages, and what it does next.
struct Call {
  enum class Next : std::uint8_t { kNothing, kForward, kBackward, kUnclear };

  std::string_view name;
  bool sends = false;
  Next next = Next::kNothing;
};

constexpr std::array kTimedCalls{
    Call{"recv_forward", false, Call::Next::kForward},
    Call{"send_forward", true, Call::Next::kNothing},
    Call{"recv_backward", false, Call::Next::kBackward},
    Call{"send_backward", true, Call::Next::kNothing},
    Call{"send_forward_recv_backward", true, Call::Next::kBackward},
    Call{"send_backward_recv_forward", true, Call::Next::kForward},
    Call{"send_forward_recv_forward", true, Call::Next::kUnclear},
    Call{"send_backward_recv_backward", true, Call::Next::kUnclear},
    Call{"send_forward_backward_recv_forward_backward", true, Call::Next::kUnclear},
};

std::string_view behind_last_dot(std::string_view path) { return path.substr(path.rfind('.') + 1); }

const Call* call_of(std::string_view path) {
  if (path.find("p2p_communication") == std::string_view::npos) return nullptr;
  const auto found = std::ranges::find(kTimedCalls, behind_last_dot(path), &Call::name);
  return found == kTimedCalls.end() ? nullptr : &*found;
}

std::vector<UnnamedWork> named_work(const RankTrace& trace) {
  std::vector<UnnamedWork> all;
  for (const TraceRange& range : trace.ranges) {
    if (range.kind != RangeKind::kAnnotation) continue;
    const std::string_view name = behind_last_dot(range.name);
    const bool forward = std::ranges::find(kForwardNames, name) != kForwardNames.end();
    const bool backward = std::ranges::find(kBackwardNames, name) != kBackwardNames.end();
    // A function's range may stand around its timer's.
    if ((!forward && !backward) || (!all.empty() && range.start_ns < all.back().end_ns)) continue;
    all.push_back({.backward = backward,
                   .begin_ns = range.start_ns,
                   .start_ns = range.start_ns,
                   .end_ns = range.end_ns,
                   .send_begin_ns = range.end_ns,
                   .send_end_ns = range.end_ns});
  }
  return all;
}

std::vector<UnnamedWork> work_between_calls(const RankTrace& trace) {
  std::vector<UnnamedWork> all;
  const Call* before = nullptr;
  std::int64_t begin = 0;
  for (const TraceRange& range : trace.ranges) {
    const Call* call = range.kind == RangeKind::kAnnotation ? call_of(range.name) : nullptr;
    if (call == nullptr) continue;
    if (call->next == Call::Next::kUnclear) {
      throw Error(trace.file + ": has calls of " + std::string(call->name) +
                  ", so it ran Megatron-LM's interleaved schedule, whose calls do not tell forwards from backwards; "
                  "expected NVTX ranges named forward_step and backward_step around them");
    }
    if (before != nullptr && before->next != Call::Next::kNothing) {
      all.push_back({.backward = before->next == Call::Next::kBackward,
                     .begin_ns = begin,
                     .start_ns = begin,
                     .end_ns = range.start_ns,
                     .send_begin_ns = range.start_ns,
                     .send_end_ns = call->sends ? range.end_ns : range.start_ns});
    }
    before = call;
    begin = range.end_ns;
  }
  return all;
}

}  // namespace

std::vector<UnnamedWork> megatron_work(const RankTrace& trace) {
  std::vector<UnnamedWork> named = named_work(trace);
  return named.empty() ? work_between_calls(trace) : named;
}

}  // namespace plumb
