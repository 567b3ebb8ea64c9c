#include "sim/traces/readers/gpu_work.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "schedules/document/action_text.hpp"
#include "sim/traces/readers/kernel_times.hpp"
#include "sim/traces/readers/work_order.hpp"

namespace plumb {
namespace {

/// The action that a captured graph annotated a kernel with; false for other kernels.
bool read_annotation(std::string_view name, Action& action) {
  if (name.starts_with("PP:")) name.remove_prefix(3);
  return !name.empty() && read_action(name, action).empty();
}

/// To the kernels that the calls launched; calls that launched none are left out.
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

}  // namespace

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
  for (TracedAction& work : run.work) {
    if (const auto extent = kernels.work(work.begin_ns, work.end_ns)) {
      work.start_ns = extent->start_ns;
      work.end_ns = extent->end_ns;
    } else {
      work.end_ns = work.start_ns;  // it launched nothing
    }
  }
  for (TracedAction& work : run.work) work.operators_ns = work.end_ns - work.start_ns;
  put_device_in_order(run);
  move_calls(kernels, run.others);
  move_calls(kernels, run.messages);
  // A message is on its way from the moment when its kernel runs, and there when the kernel that receives ends.
  for (TracedAction& message : run.messages) {
    if (is_recv(message.action.op)) message.arrived_ns = message.end_ns;
    message.end_ns = message.start_ns;
  }
}

}  // namespace plumb
