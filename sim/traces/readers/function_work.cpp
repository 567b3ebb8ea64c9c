#include "sim/traces/readers/function_work.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "models/ground/error.hpp"
#include "sim/traces/readers/host_ranges.hpp"
#include "sim/traces/readers/pipeline_functions.hpp"

namespace plumb {
namespace {

/// A call of one of the functions.
struct FunctionCall {
  const PipelineFunction* function = nullptr;
  const TraceRange* range = nullptr;
};

std::vector<FunctionCall> calls_of(const RankTrace& trace) {
  std::vector<FunctionCall> calls;
  for (const TraceRange& range : trace.ranges) {
    if (range.kind != RangeKind::kAnnotation) continue;
    if (const PipelineFunction* function = pipeline_function(range.name)) calls.push_back({function, &range});
  }
  return calls;
}

std::vector<UnnamedWork> passes_of(const std::vector<FunctionCall>& calls) {
  std::vector<UnnamedWork> all;
  for (const auto& [function, range] : calls) {
    // A function's range may stand around its timer's.
    if (function->does == PipelineFunction::Does::kExchange || (!all.empty() && range->start_ns < all.back().end_ns))
      continue;
    all.push_back({.backward = function->does == PipelineFunction::Does::kBackward,
                   .begin_ns = range->start_ns,
                   .start_ns = range->start_ns,
                   .end_ns = range->end_ns,
                   .send_begin_ns = range->end_ns,
                   .send_end_ns = range->end_ns});
  }
  return all;
}

std::vector<UnnamedWork> work_between(const std::vector<FunctionCall>& calls, const std::string& file) {
  std::vector<UnnamedWork> all;
  const FunctionCall* before = nullptr;
  for (const FunctionCall& call : calls) {
    const auto& [function, range] = call;
    if (function->is_interleaved()) {
      throw Error(file + ": has calls of " + std::string(function->name) +
                  ", so it ran Megatron-LM's interleaved schedule, whose calls do not tell forwards from backwards; "
                  "expected NVTX ranges named forward_step and backward_step around them");
    }
    if (before != nullptr && before->function->receives != PipelineFunction::Messages::kNone) {
      all.push_back(
          {.backward = before->function->receives == PipelineFunction::Messages::kBackward,
           .begin_ns = before->range->end_ns,
           .start_ns = before->range->end_ns,
           .end_ns = range->start_ns,
           .send_begin_ns = range->start_ns,
           .send_end_ns = function->sends != PipelineFunction::Messages::kNone ? range->end_ns : range->start_ns});
    }
    before = &call;
  }
  return all;
}

/// Numbers the operators of c10d inside functions that exchange, by what they carry.
class MessageReader {
 public:
  MessageReader(const RankTrace& trace, const std::vector<FunctionCall>& calls)
      : trace_(trace), calls_(calls), host_(trace.ranges) {}

  std::vector<TracedAction> read() {
    for (const auto& [function, range] : calls_) {
      if (function->does != PipelineFunction::Does::kExchange) continue;
      read_side(*range, "c10d::send", function->sends, Op::kSendF, Op::kSendB);
      read_side(*range, "c10d::recv_", function->receives, Op::kRecvF, Op::kRecvB);
    }
    return std::move(messages_);
  }

 private:
  /// The operators called `name` inside `call`, in order.
  std::vector<const TraceRange*> inside(const TraceRange& call, std::string_view name) const {
    std::vector<const TraceRange*> found;
    auto at = std::ranges::lower_bound(trace_.ranges, call.start_ns, {}, &TraceRange::start_ns);
    for (; at != trace_.ranges.end() && at->start_ns < call.end_ns; ++at) {
      if (at->kind == RangeKind::kOperator && at->name == name) found.push_back(&*at);
    }
    return found;
  }

  void read_side(const TraceRange& call, std::string_view name, PipelineFunction::Messages carried, Op forward,
                 Op backward) {
    if (carried == PipelineFunction::Messages::kNone) return;
    const std::vector<const TraceRange*> found = inside(call, name);
    if (found.empty()) return;
    if (carried != PipelineFunction::Messages::kBoth) {
      add(carried == PipelineFunction::Messages::kForward ? forward : backward, *found.front(), *found.back());
    } else if (found.size() == 2) {
      // Both go in one batch, those of the previous stage first: it is sent a gradient, and sends an activation.
      const bool sends = forward == Op::kSendF;
      add(sends ? backward : forward, *found.front(), *found.front());
      add(sends ? forward : backward, *found.back(), *found.back());
    } else {
      add(only_one_is_forward(call, forward == Op::kSendF) ? forward : backward, *found.front(), *found.back());
    }
  }

  /// Of a call for both directions that found one message only. The last call of the warm-up stands behind a forward
  /// and has no gradient to send; the last one before the final backwards stands before a backward and receives no
  /// activation. All others are short of one because the first rank's first chunk exchanges nothing with a rank before
  /// it, and the last rank's last chunk nothing with one behind it.
  bool only_one_is_forward(const TraceRange& call, bool sends) const {
    bool behind_forward = false;
    for (const auto& [function, range] : calls_) {
      if (function->does == PipelineFunction::Does::kExchange) continue;
      const bool forward = function->does == PipelineFunction::Does::kForward;
      if (range->start_ns >= call.end_ns)
        return sends ? trace_.rank == 0 || behind_forward : trace_.rank != 0 && forward;
      behind_forward = forward;
    }
    return sends && trace_.rank == 0;
  }

  void add(Op op, const TraceRange& first, const TraceRange& last) {
    const Action action{.stage = StageId{std::max(0, trace_.rank)},
                        .microbatch = MicrobatchId{count_[static_cast<std::size_t>(op)]++},
                        .op = op};
    messages_.push_back({action, 0, first.start_ns, first.start_ns, last.end_ns});
    if (is_send(op)) messages_.back().waited_ns = host_.send_waited(first.start_ns, last.end_ns);
  }

  const RankTrace& trace_;
  const std::vector<FunctionCall>& calls_;
  HostRanges host_;
  std::array<std::int32_t, kOpCount> count_{};
  std::vector<TracedAction> messages_;
};

/// Work begins, and may wait, where the last call before it has issued its messages.
void begin_after_messages(std::vector<UnnamedWork>& works, const std::vector<TracedAction>& messages) {
  std::size_t next = 0;
  std::int64_t issued_ns = 0;
  for (UnnamedWork& work : works) {
    for (; next < messages.size() && messages[next].end_ns <= work.start_ns; ++next) {
      issued_ns = std::max(issued_ns, messages[next].end_ns);
    }
    if (next > 0) work.begin_ns = std::min(work.start_ns, issued_ns);
    issued_ns = std::max(issued_ns, work.end_ns);
  }
}

}  // namespace

FunctionWork function_work(const RankTrace& trace) {
  FunctionWork result;
  const std::vector<FunctionCall> calls = calls_of(trace);
  if (calls.empty()) return result;
  result.work = passes_of(calls);
  if (result.work.empty()) {
    result.work = work_between(calls, trace.file);
  } else {
    result.messages = MessageReader(trace, calls).read();
    std::ranges::stable_sort(result.messages, {}, &TracedAction::begin_ns);
    begin_after_messages(result.work, result.messages);
  }
  if (!result.work.empty()) result.runtime = calls.front().function->runtime;
  return result;
}

}  // namespace plumb
