#include "sim/traces/rank_run.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "models/ground/error.hpp"
#include "schedules/document/action_text.hpp"

namespace plumb {
namespace {

constexpr std::string_view kPrefix = "PP:";

/// What stands behind `PP:`; nothing for other ranges.
std::optional<std::string_view> pipeline_text(const TraceRange& range) {
  const std::string_view name = range.name;
  if (!name.starts_with(kPrefix)) return std::nullopt;
  return name.substr(kPrefix.size());
}

bool is_wait(const TraceRange& range) {
  const std::string_view name = range.name;
  if (range.kind == RangeKind::kAnnotation) return name == "wait" || name == "gloo:recv";
  return range.kind == RangeKind::kOperator && name.starts_with("c10d::");
}

bool is_autograd(const TraceRange& range) {
  return range.kind == RangeKind::kOperator && range.name.starts_with("autograd::engine");
}

/// One action, or the two of an overlapped pair; none where the text is something else.
std::vector<Action> read_actions(std::string_view text) {
  std::vector<Action> actions;
  if (!read_item(text, actions).empty()) actions.clear();
  for (Action& action : actions) action.overlaps_next = 0;
  return actions;
}

/// The ranges of one thread, so that what lies inside another one is found quickly.
class Host {
 public:
  explicit Host(std::span<const TraceRange> ranges) {
    for (const TraceRange& range : ranges) {
      if (is_wait(range)) waits_.push_back(range.end_ns);
      if (range.kind == RangeKind::kOperator && !is_wait(range)) operators_.push_back(&range);
    }
    std::ranges::sort(waits_);
  }

  /// The end of the last wait that ends from `from` to `to`; `from` where none does.
  std::int64_t last_wait(std::int64_t from, std::int64_t to) const {
    const auto after = std::ranges::upper_bound(waits_, to);
    return after == waits_.begin() ? from : std::max(from, *(after - 1));
  }

  /// Where the halves of a pair inside [begin, end] meet: the end of the first half's last operator, and the begin of
  /// the backward.
  std::pair<std::int64_t, std::int64_t> meeting(std::int64_t begin, std::int64_t end) const {
    auto backward = std::ranges::lower_bound(operators_, begin, {}, [](const TraceRange* r) { return r->start_ns; });
    std::int64_t forward_end = begin;
    while (backward != operators_.end() && (*backward)->start_ns < end && !is_autograd(**backward)) {
      forward_end = std::max(forward_end, (*backward)->end_ns);
      ++backward;
    }
    const bool found = backward != operators_.end() && (*backward)->start_ns < end;
    return {forward_end, found ? last_wait(forward_end, (*backward)->start_ns) : forward_end};
  }

  /// For how long of [begin, end] some operator ran.
  std::int64_t operator_time(std::int64_t begin, std::int64_t end) const {
    auto next = std::ranges::lower_bound(operators_, begin, {}, [](const TraceRange* r) { return r->start_ns; });
    std::int64_t covered = begin;
    std::int64_t sum = 0;
    for (; next != operators_.end() && (*next)->start_ns < end; ++next) {
      const std::int64_t until = std::min(end, (*next)->end_ns);
      sum += std::max<std::int64_t>(0, until - std::max(covered, (*next)->start_ns));
      covered = std::max(covered, until);
    }
    return sum;
  }

  /// The begin of the first operator in [begin, end]; `end` where there is none.
  std::int64_t first_operator(std::int64_t begin, std::int64_t end) const {
    const auto found = std::ranges::lower_bound(operators_, begin, {}, [](const TraceRange* r) { return r->start_ns; });
    return found == operators_.end() ? end : std::min(end, (*found)->start_ns);
  }

 private:
  std::vector<std::int64_t> waits_;           ///< ends, ascending
  std::vector<const TraceRange*> operators_;  ///< but those of c10d, by start
};

void note_operators(const Host& host, bool on_host, TracedAction& work) {
  work.operators_ns = on_host ? host.operator_time(work.start_ns, work.end_ns) : work.end_ns - work.start_ns;
}

/// Appends the one or two actions of a range of work.
void add_work(const TraceRange& range, std::span<const Action> actions, const Host& host, RankRun& run) {
  const std::int64_t begin = range.start_ns;
  const std::int64_t end = range.end_ns;
  const bool on_host = range.kind == RangeKind::kAnnotation;
  if (actions.size() == 1) {
    run.work.push_back({actions[0], 0, begin, on_host ? host.last_wait(begin, end) : begin, end});
    note_operators(host, on_host, run.work.back());
    return;
  }
  const auto [first_end, second_start] = on_host ? host.meeting(begin, end) : std::pair(end, begin);
  const std::int64_t first_start = on_host ? host.last_wait(begin, host.first_operator(begin, end)) : begin;
  run.work.push_back({actions[0], 0, begin, first_start, first_end});
  note_operators(host, on_host, run.work.back());
  run.work.push_back({actions[1], 0, on_host ? first_end : begin, second_start, end});
  note_operators(host, on_host, run.work.back());
}

/// Numbers the occurrences of every action, and counts the steps.
void number_steps(std::vector<TracedAction>& actions, RankRun& run) {
  std::map<std::string, std::int32_t> seen;
  for (TracedAction& traced : actions) {
    std::string text;
    append_text(text, traced.action);
    traced.step = seen[text]++;
  }
  for (const auto& [text, count] : seen) {
    if (run.steps == 0) run.steps = count;
    if (count == run.steps) continue;
    throw Error(run.file + ": " + text + " occurs " + std::to_string(count) + " times, but other actions " +
                std::to_string(run.steps) +
                " times; expected whole steps: trace from one step's begin to another's end");
  }
}

}  // namespace

RankRun rank_run(const RankTrace& trace) {
  RankRun run;
  run.file = trace.file;
  run.rank = trace.rank;
  const bool on_gpu = std::ranges::any_of(trace.ranges, [](const TraceRange& range) {
    return range.kind == RangeKind::kGpuAnnotation && pipeline_text(range);
  });
  const Host host(trace.ranges);
  for (const TraceRange& range : trace.ranges) {
    const auto text = pipeline_text(range);
    if (!text) continue;
    const std::vector<Action> actions = read_actions(*text);
    if (actions.empty()) {
      throw Error(run.file + ": range 'PP:" + std::string(*text) + "' is not an action of PyTorch's schedules");
    }
    const bool work = is_compute(actions.front().op);
    if (on_gpu != (range.kind == RangeKind::kGpuAnnotation)) continue;
    if (work) {
      add_work(range, actions, host, run);
    } else {
      const bool message = is_send(actions.front().op) || is_recv(actions.front().op);
      (message ? run.messages : run.others).push_back({actions[0], 0, range.start_ns, range.start_ns, range.end_ns});
    }
  }
  if (run.work.empty()) {
    throw Error(
        run.file +
        ": has no ranges 'PP:<action>'; expected a run of _PipelineScheduleRuntime (the classes Schedule1F1B and "
        "ScheduleGPipe write none: run the same order from a file that `plumbline schedule NAME --format "
        "torch-comms` writes)");
  }
  number_steps(run.work, run);
  number_steps(run.messages, run);
  number_steps(run.others, run);
  return run;
}

}  // namespace plumb
