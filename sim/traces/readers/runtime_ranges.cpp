#include "sim/traces/readers/runtime_ranges.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "schedules/document/action_text.hpp"
#include "sim/traces/readers/counted_work.hpp"
#include "sim/traces/readers/gpu_work.hpp"
#include "sim/traces/readers/host_ranges.hpp"
#include "sim/traces/readers/pipeline_functions.hpp"
#include "sim/traces/readers/rank_run.hpp"
#include "sim/traces/readers/rank_trace.hpp"
#include "sim/traces/readers/unnamed_work.hpp"
#include "sim/traces/readers/work_order.hpp"

namespace plumb {
namespace {

/// What the functions of a rank's training system tell of its work.
struct FunctionWork {
  std::string_view runtime;            ///< as in `--runtime`; empty: nothing found
  std::vector<UnnamedWork> work;       ///< in order
  std::vector<TracedAction> messages;  ///< SEND and RECV, each kind numbered from 0 over the whole trace
};

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
  /// Returns the operators called `name` inside `call`, in order.
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

  /// Decides the direction of a call for both that found one message only. The last call of the warm-up stands behind a
  /// forward and has no gradient to send; the last one before the final backwards stands before a backward and receives
  /// no activation. All others are short of one because the first rank's first chunk exchanges nothing with a rank
  /// before it, and the last rank's last chunk nothing with one behind it.
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

/// Returns the forwards and backwards of a rank of Megatron-LM or DeepSpeed, from calls of their functions
/// (`pipeline_functions.hpp`) on its host: annotations (NVTX, timers), or Python's calls where PyTorch's profiler
/// collected call stacks.
/// - Where functions that run passes are named, these are the work, and operators of c10d inside functions that
///   exchange are the messages. Work begins where the call before it ends.
/// - Else what lies between Megatron-LM's calls of p2p_communication, which `--nvtx-ranges` annotates: behind one that
///   receives activations is a forward, behind one that receives gradients a backward, up to the next call.
///
/// Empty where there are neither. Throws `Error` where only calls of Megatron-LM's interleaved schedule are named
/// (`send_forward_recv_forward`), which do not tell forwards from backwards.
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

constexpr std::string_view kPrefix = "PP:";
constexpr std::int32_t kMostMicrobatch = 1 << 30;

/// Returns what stands behind `PP:`; nothing for other ranges.
std::optional<std::string_view> pipeline_text(const TraceRange& range) {
  const std::string_view name = range.name;
  if (!name.starts_with(kPrefix)) return std::nullopt;
  return name.substr(kPrefix.size());
}

/// Returns one action, or the two of an overlapped pair; none where the text is something else.
std::vector<Action> read_actions(std::string_view text) {
  std::vector<Action> actions;
  if (!read_item(text, actions).empty()) actions.clear();
  for (Action& action : actions) action.overlaps_next = 0;
  return actions;
}

/// Appends the one or two actions of a host's range of work.
void add_host_work(const TraceRange& range, std::span<const Action> actions, const HostRanges& host, RankRun& run) {
  const std::int64_t begin = range.start_ns;
  const std::int64_t end = range.end_ns;
  if (actions.size() == 1) {
    run.work.push_back({actions[0], 0, begin, host.last_wait(begin, end), end});
    return;
  }
  const auto [first_end, second_start] = host.meeting(begin, end);
  const std::int64_t first_start = host.last_wait(begin, host.first_operator(begin, end));
  run.work.push_back({actions[0], 0, begin, first_start, first_end});
  run.work.push_back({actions[1], 0, first_end, second_start, end});
}

/// Ranges `PP:` of the wanted kind, on the wanted thread if one is given.
void add_named(const RankTrace& trace, RangeKind kind, std::optional<std::int64_t> thread, RankRun& run) {
  const HostRanges host(trace.ranges);
  for (const TraceRange& range : trace.ranges) {
    const auto text = range.kind == kind ? pipeline_text(range) : std::nullopt;
    if (!text || (thread && range.thread != *thread)) continue;
    const std::vector<Action> actions = read_actions(*text);
    if (actions.empty()) {
      throw Error(run.file + ": range 'PP:" + std::string(*text) + "' is not an action of PyTorch's schedules");
    }
    if (!is_compute(actions.front().op)) {
      const bool message = is_send(actions.front().op) || is_recv(actions.front().op);
      (message ? run.messages : run.others).push_back({actions[0], 0, range.start_ns, range.start_ns, range.end_ns});
    } else if (kind == RangeKind::kAnnotation) {
      add_host_work(range, actions, host, run);
    } else {
      for (const Action& action : actions)
        run.work.push_back({action, 0, range.start_ns, range.start_ns, range.end_ns});
    }
  }
}

/// The stage of a rank that is not known yet is 0 (`rank_processes`).
Action action_of_rank(std::int32_t rank, Op op, std::int32_t microbatch) {
  return {.stage = StageId{std::max(0, rank)}, .microbatch = MicrobatchId{microbatch}, .op = op};
}

/// A range of `ScheduleGPipe`.
struct GpipePass {
  bool backward = false;
  std::int32_t microbatch = 0;
};

/// "Forward 7" and "Backward 7"; nothing for other ranges.
std::optional<GpipePass> gpipe_pass(const TraceRange& range) {
  if (range.kind != RangeKind::kAnnotation) return std::nullopt;
  std::string_view name = range.name;
  GpipePass pass{.backward = name.starts_with("Backward ")};
  if (!pass.backward && !name.starts_with("Forward ")) return std::nullopt;
  name.remove_prefix(name.find(' ') + 1);
  const auto [last, error] = std::from_chars(name.data(), name.data() + name.size(), pass.microbatch);
  const bool is_number = error == std::errc{} && last == name.data() + name.size();
  if (!is_number || pass.microbatch < 0 || pass.microbatch > kMostMicrobatch) return std::nullopt;
  return pass;
}

/// What `ScheduleGPipe` does in its ranges: receive, wait, work, send.
void add_gpipe(const RankTrace& trace, RankRun& run) {
  const HostRanges host(trace.ranges);
  for (const TraceRange& range : trace.ranges) {
    const auto pass = gpipe_pass(range);
    if (!pass) continue;
    const auto [backward, number] = *pass;
    const TraceRange* receive = host.first_receive(range.start_ns, range.end_ns);
    if (receive) {
      run.messages.push_back({action_of_rank(trace.rank, backward ? Op::kRecvB : Op::kRecvF, number), 0,
                              receive->start_ns, receive->start_ns, receive->end_ns});
    }
    const TraceRange* send = host.first_send(range.start_ns, range.end_ns);
    const std::int64_t end = send ? send->start_ns : range.end_ns;
    run.work.push_back({action_of_rank(trace.rank, backward ? Op::kB : Op::kF, number), 0, range.start_ns,
                        host.last_wait(range.start_ns, end), end});
    if (!send) continue;
    run.messages.push_back({action_of_rank(trace.rank, backward ? Op::kSendB : Op::kSendF, number), 0, send->start_ns,
                            send->start_ns, send->end_ns});
    run.messages.back().waited_ns = host.send_waited(send->start_ns, send->end_ns);
  }
}

/// Returns the thread (of a GPU: the stream) with most time in ranges `PP:` of the GPU; nothing where there are none.
std::optional<std::int64_t> busiest_stream(const RankTrace& trace) {
  std::map<std::int64_t, std::int64_t> busy;
  for (const TraceRange& range : trace.ranges) {
    if (range.kind == RangeKind::kGpuAnnotation && pipeline_text(range)) {
      busy[range.thread] += range.end_ns - range.start_ns;
    }
  }
  const auto most = std::ranges::max_element(busy, {}, [](const auto& entry) { return entry.second; });
  return most == busy.end() ? std::nullopt : std::optional(most->first);
}

/// What is sent on has a receiver.
std::int32_t stages_told(const RankRun& run) {
  std::int32_t stages = 0;
  for (const TracedAction& work : run.work) stages = std::max(stages, static_cast<std::int32_t>(work.action.stage) + 1);
  for (const TracedAction& message : run.messages) {
    const bool to_next = message.action.op == Op::kSendF || message.action.op == Op::kRecvB;
    stages = std::max(stages, static_cast<std::int32_t>(message.action.stage) + (to_next ? 2 : 1));
  }
  return stages;
}

/// Returns whether the work was found on the host.
bool find_work(const RankTrace& trace, RankRun& run) {
  run.runtime = "pytorch";
  if (add_graph_work(trace, run)) return false;
  const std::optional<std::int64_t> stream = busiest_stream(trace);
  if (stream && !has_launched_kernels(trace)) {
    add_named(trace, RangeKind::kGpuAnnotation, stream, run);
    put_device_in_order(run);
    return false;
  }
  add_named(trace, RangeKind::kAnnotation, std::nullopt, run);
  if (!run.work.empty()) return true;
  const bool has_others = trace.rank == RankTrace::kUnknown || trace.world_size > 1;
  run.runtime = trace.runtime.empty() ? "pytorch-single" : trace.runtime;
  if (has_others) add_gpipe(trace, run);
  if (!run.work.empty()) return true;
  const FunctionWork functions = function_work(trace);
  add_counted(functions.work, run);
  run.messages.insert(run.messages.end(), functions.messages.begin(), functions.messages.end());
  if (!run.work.empty()) run.runtime = functions.runtime;
  if (run.work.empty() && has_others) add_counted(unnamed_work(trace), run);
  return true;
}

/// How long operators ran in each work.
void note_operators(const RankTrace& trace, RankRun& run) {
  const HostRanges host(trace.ranges);
  for (TracedAction& work : run.work) {
    work.operators_ns = host.operator_time(work.start_ns, work.end_ns);
  }
}

/// Numbers the occurrences of every action.
void number_occurrences(std::vector<TracedAction>& actions) {
  std::map<std::string, std::int32_t> seen;
  for (TracedAction& traced : actions) {
    std::string text;
    append_text(text, traced.action);
    traced.step = seen[text]++;
  }
}

/// Notes in which range `ProfilerStep#n` of the host everything begins.
void note_profiler_steps(const RankTrace& trace, RankRun& run) {
  constexpr std::string_view kStep = "ProfilerStep#";
  std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> ranges;  // by begin: end, n
  for (const TraceRange& range : trace.ranges) {
    const std::string_view name = range.name;
    if (range.kind != RangeKind::kAnnotation || !name.starts_with(kStep)) continue;
    std::int64_t n = -1;
    std::from_chars(name.data() + kStep.size(), name.data() + name.size(), n);
    if (n >= 0) ranges[range.start_ns] = {range.end_ns, n};
  }
  if (ranges.empty()) return;
  for (auto* list : {&run.work, &run.messages, &run.others}) {
    for (TracedAction& one : *list) {
      const auto after = ranges.upper_bound(one.begin_ns);
      if (after == ranges.begin()) continue;
      const auto& [end, n] = std::prev(after)->second;
      if (one.begin_ns < end) one.profiler_step = n;
    }
  }
}

}  // namespace

bool runs_pipeline(const RankTrace& trace) {
  const auto is_named = [](const TraceRange& range) { return pipeline_text(range) || gpipe_pass(range); };
  return std::ranges::any_of(trace.ranges, is_named) || !function_work(trace).work.empty() ||
         !unnamed_work(trace).empty();
}

RankRun rank_run(const RankTrace& trace) {
  RankRun run;
  run.file = trace.file;
  run.rank = trace.rank;
  run.world_size = trace.world_size;
  run.backend = trace.backend;
  run.group = trace.group;
  check_gpu_is_traced(trace);
  const bool on_host = find_work(trace, run);
  if (run.work.empty()) {
    throw Error(run.file +
                ": has no ranges 'PP:<action>' and no forwards and backwards between calls that send and receive; "
                "expected a rank of a pipeline of torch.distributed.pipelining");
  }
  run.stages = stages_told(run);
  if (on_host) put_host_in_order(run);
  note_operators(trace, run);
  if (on_host) note_profiler_steps(trace, run);
  if (on_host) move_to_gpu(trace, run);
  if (run.numbering == Numbering::kCounted) return run;
  for (auto* list : {&run.work, &run.messages, &run.others}) number_occurrences(*list);
  return run;
}

}  // namespace plumb
