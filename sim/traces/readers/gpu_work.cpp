#include "sim/traces/readers/gpu_work.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "schedules/document/action_text.hpp"
#include "sim/traces/readers/rank_trace.hpp"
#include "sim/traces/readers/work_order.hpp"

namespace plumb {
namespace {

/// From the begin of the first to the end of the last.
struct TimeExtent {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;

  void add(std::int64_t start, std::int64_t end) {
    if (start < start_ns) start_ns = start;
    if (end > end_ns) end_ns = end;
  }
};

/// When the GPU ran what the host launched. A launch and its kernels have the same correlation; a captured graph's
/// kernels all have that of the launch of the graph.
class KernelTimes {
 public:
  explicit KernelTimes(std::span<const TraceRange> ranges);

  /// Returns whether any kernel that computes was launched by the host that was traced.
  bool any() const { return !work_.empty(); }

  /// Returns the kernels that compute and were launched from `begin` (included) to `end`, on any thread: the backward's
  /// are launched by threads of autograd.
  std::optional<TimeExtent> work(std::int64_t begin_ns, std::int64_t end_ns) const;

  /// Finds the extent of kernels that send and receive.
  std::optional<TimeExtent> messages(std::int64_t begin_ns, std::int64_t end_ns) const;

 private:
  using ByCorrelation = std::map<std::int64_t, TimeExtent>;

  std::optional<TimeExtent> launched(const ByCorrelation& kernels, std::int64_t begin_ns, std::int64_t end_ns) const;

  struct Launch {
    std::int64_t at_ns = 0;
    std::int64_t correlation = 0;
  };

  std::vector<Launch> launches_;  ///< by time
  ByCorrelation work_;
  ByCorrelation messages_;
};

void add_kernel(std::map<std::int64_t, TimeExtent>& kernels, const TraceRange& kernel) {
  const auto [entry, is_new] = kernels.emplace(kernel.correlation, TimeExtent{kernel.start_ns, kernel.end_ns});
  if (!is_new) entry->second.add(kernel.start_ns, kernel.end_ns);
}

KernelTimes::KernelTimes(std::span<const TraceRange> ranges) {
  for (const TraceRange& range : ranges) {
    if (range.correlation < 0) continue;
    if (range.kind == RangeKind::kLaunch) launches_.push_back({range.start_ns, range.correlation});
    if (range.kind == RangeKind::kKernel) add_kernel(work_, range);
    if (range.kind == RangeKind::kMessageKernel) add_kernel(messages_, range);
  }
  std::ranges::sort(launches_, {}, &Launch::at_ns);
}

std::optional<TimeExtent> KernelTimes::launched(const ByCorrelation& kernels, std::int64_t begin_ns,
                                                std::int64_t end_ns) const {
  std::optional<TimeExtent> extent;
  auto launch = std::ranges::lower_bound(launches_, begin_ns, {}, &Launch::at_ns);
  for (; launch != launches_.end() && launch->at_ns < end_ns; ++launch) {
    const auto kernel = kernels.find(launch->correlation);
    if (kernel == kernels.end()) continue;
    if (!extent) extent = kernel->second;
    extent->add(kernel->second.start_ns, kernel->second.end_ns);
  }
  return extent;
}

std::optional<TimeExtent> KernelTimes::work(std::int64_t begin_ns, std::int64_t end_ns) const {
  return launched(work_, begin_ns, end_ns);
}

std::optional<TimeExtent> KernelTimes::messages(std::int64_t begin_ns, std::int64_t end_ns) const {
  return launched(messages_, begin_ns, end_ns);
}

/// Returns the action that a captured graph annotated a kernel with; false for other kernels.
bool read_annotation(std::string_view name, Action& action) {
  if (name.starts_with("PP:")) name.remove_prefix(3);
  return !name.empty() && read_action(name, action).empty();
}

/// Moves calls to the kernels that they launched; calls that launched none are left out.
void move_calls(const KernelTimes& kernels, std::vector<TracedAction>& calls) {
  std::erase_if(calls, [&](TracedAction& call) {
    const auto extent = kernels.messages(call.begin_ns, call.end_ns);
    if (extent) {
      call.begin_ns = call.start_ns = extent->start_ns;
      call.end_ns = extent->end_ns;
    }
    return !extent;
  });
}

/// When the values were there that the rank received, by what takes them, in the order of the calls.
class ReceivedValues {
 public:
  explicit ReceivedValues(const std::vector<TracedAction>& messages) {
    for (const TracedAction& message : messages) {
      if (message.arrived_ns) arrived_ns_[key_of(message.action)].push_back(*message.arrived_ns);
    }
  }

  /// Returns the time of the next occurrence of this work; nothing where it took none.
  std::optional<std::int64_t> next(const Action& work) {
    if (work.op == Op::kW) return std::nullopt;
    const Key key = key_of(work);
    const auto found = arrived_ns_.find(key);
    const std::size_t at = taken_[key]++;
    if (found == arrived_ns_.end() || at >= found->second.size()) return std::nullopt;
    return found->second[at];
  }

 private:
  using Key = std::tuple<StageId, bool, MicrobatchId>;

  static Key key_of(const Action& action) {
    return {action.stage, is_backward(action.op) || action.op == Op::kRecvB, action.microbatch};
  }

  std::map<Key, std::vector<std::int64_t>> arrived_ns_;
  std::map<Key, std::size_t> taken_;
};

/// Throws `Error` where no forward, or no backward, launched anything: what the GPU did is then of unknown actions.
void check_launches(const KernelTimes& kernels, const RankRun& run) {
  std::map<bool, bool> launched;  // by whether it is a backward
  for (const TracedAction& work : run.work)
    launched[work.action.op != Op::kF] |= kernels.work(work.begin_ns, work.end_ns).has_value();
  for (const auto& [backward, any] : launched) {
    if (any) continue;
    const std::string pass = backward ? "backward" : "forward";
    throw Error(run.file + ": none of the kernels and captured graphs was launched in a range of a " + pass +
                "; expected ranges around the calls that launch them: of PyTorch the actions' own, under the profiler "
                "while graphs are launched, not while they are captured");
  }
}

/// Moves work to the kernels that its ranges launched, on any thread.
void move_work(const KernelTimes& kernels, RankRun& run) {
  ReceivedValues received(run.messages);
  std::int64_t before_ns = std::numeric_limits<std::int64_t>::min();
  for (TracedAction& work : run.work) {
    const auto arrived_ns = received.next(work.action);
    if (const auto extent = kernels.work(work.begin_ns, work.end_ns)) {
      work.start_ns = extent->start_ns;
      work.end_ns = extent->end_ns;
    } else {
      // It launched nothing, but keeps its place: the host is ahead of the GPU, whose stream waits for the value.
      work.start_ns = work.end_ns = std::max(arrived_ns.value_or(work.start_ns), before_ns);
    }
    before_ns = work.end_ns;
  }
}

}  // namespace

void check_gpu_is_traced(const RankTrace& trace) {
  const auto is_of_gpu = [](const TraceRange& range) {
    return range.kind == RangeKind::kKernel || range.kind == RangeKind::kMessageKernel ||
           range.kind == RangeKind::kGpuAnnotation;
  };
  const auto is_nccl = [](const TraceRange& range) {
    return range.kind == RangeKind::kAnnotation && is_message_kernel(range.name);
  };
  const bool talks = trace.backend == "nccl" || std::ranges::any_of(trace.ranges, is_nccl);
  if (!talks || std::ranges::any_of(trace.ranges, is_of_gpu)) return;
  throw Error(trace.file +
              ": the ranks talk by NCCL, so that GPUs ran the work, but the trace has no kernels; expected a profile "
              "with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], of Nsight Systems with "
              "--trace=nvtx,cuda");
}

bool has_launched_kernels(const RankTrace& trace) { return KernelTimes(trace.ranges).any(); }

bool add_graph_work(const RankTrace& trace, RankRun& run) {
  std::map<std::pair<std::string_view, std::int64_t>, TimeExtent> extents;  // by annotation and launch of the graph
  for (const TraceRange& range : trace.ranges) {
    Action action;
    if (range.kind != RangeKind::kKernel || !read_annotation(range.name, action)) continue;
    const auto [entry, is_new] = extents.emplace(std::pair(std::string_view(range.name), range.correlation),
                                                 TimeExtent{range.start_ns, range.end_ns});
    if (!is_new) entry->second.add(range.start_ns, range.end_ns);
  }
  for (const auto& [key, extent] : extents) {
    Action action;
    read_annotation(key.first, action);
    if (is_compute(action.op)) run.work.push_back({action, 0, extent.start_ns, extent.start_ns, extent.end_ns});
  }
  put_device_in_order(run);
  return !run.work.empty();
}

void move_to_gpu(const RankTrace& trace, RankRun& run) {
  const KernelTimes kernels(trace.ranges);
  if (!kernels.any()) return;
  check_launches(kernels, run);
  move_calls(kernels, run.others);
  move_calls(kernels, run.messages);
  // A message is on its way from the moment when its kernel runs, and there when the kernel that receives ends.
  for (TracedAction& message : run.messages) {
    if (is_recv(message.action.op)) message.arrived_ns = message.end_ns;
    message.end_ns = message.start_ns;
  }
  move_work(kernels, run);
  for (TracedAction& work : run.work) work.operators_ns = work.end_ns - work.start_ns;
  put_device_in_order(run);
}

}  // namespace plumb
