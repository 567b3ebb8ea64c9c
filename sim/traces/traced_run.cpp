#include "sim/traces/traced_run.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "models/ground/error.hpp"
#include "schedules/document/action_text.hpp"
#include "sim/traces/clocks.hpp"
#include "sim/traces/gzip.hpp"
#include "sim/traces/rank_run.hpp"
#include "sim/traces/run_samples.hpp"
#include "sim/traces/step_timeline.hpp"

namespace plumb {
namespace {

constexpr std::size_t kMostTraceBytes = std::size_t{1} << 32U;
/// Clocks of one machine are read in different processes; what is less than this is no finding.
constexpr std::int64_t kClockNoiseNs = 1000;

std::vector<RankTrace> read_traces(std::vector<TraceFile> files) {
  std::vector<RankTrace> traces;
  for (TraceFile& file : files) {
    std::string text = is_gzip(file.bytes) ? gunzip(file.bytes, file.name, kMostTraceBytes) : std::move(file.bytes);
    traces.push_back(read_kineto(std::move(text), file.name));
  }
  return traces;
}

/// In order of rank, each there once.
void check_ranks(std::vector<RankTrace>& traces) {
  if (traces.empty()) throw Error("a traced run needs the trace of every rank, found none");
  std::ranges::stable_sort(traces, {}, &RankTrace::rank);
  const std::int32_t world = traces.front().world_size;
  std::string missing;
  std::size_t at = 0;
  for (std::int32_t rank = 0; rank < world; ++rank) {
    if (at < traces.size() && traces[at].rank == rank) {
      ++at;
    } else {
      missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
    }
    for (; at > 0 && at < traces.size() && traces[at].rank == rank; ++at) {
      throw Error(traces[at].file + ": is of rank " + std::to_string(rank) + ", and so is " + traces[at - 1].file);
    }
  }
  for (const RankTrace& trace : traces) {
    if (trace.world_size == world) continue;
    throw Error(trace.file + ": is of a job of " + std::to_string(trace.world_size) + " ranks, but " +
                traces.front().file + " of one of " + std::to_string(world));
  }
  if (!missing.empty()) {
    throw Error(traces.front().file + ": is of a job of " + std::to_string(world) +
                " ranks, but the traces of these are missing: " + missing);
  }
}

void check_steps(const std::vector<RankRun>& runs) {
  for (const RankRun& run : runs) {
    if (run.steps == runs.front().steps) continue;
    throw Error(run.file + ": has " + std::to_string(run.steps) + " steps, but " + runs.front().file + " " +
                std::to_string(runs.front().steps) + "; expected the same steps of all ranks");
  }
}

void align_clocks(std::vector<RankRun>& runs, const TracedProducers& producers, TracedRun& traced) {
  Slacks slacks(runs.size());
  for (std::size_t rank = 0; rank < runs.size(); ++rank) {
    for (const TracedAction& work : runs[rank].work) {
      const auto producer = producers.of(work);
      if (producer && producer->rank != rank) {
        slacks.add(producer->rank, rank, work.start_ns - runs[producer->rank].work[producer->at].end_ns);
      }
    }
  }
  const ClockOffsets offsets = clock_offsets(slacks);
  if (offsets.residual_ns > kClockNoiseNs) {
    throw Error(runs.front().file + ": the clocks of the ranks cannot be aligned: a message would arrive " +
                std::to_string(offsets.residual_ns) + " ns before it was sent, whatever is added to them");
  }
  traced.clock_offsets_ns = offsets.add_ns;
  for (std::size_t rank = 0; rank < runs.size(); ++rank) {
    for (auto* list : {&runs[rank].work, &runs[rank].messages, &runs[rank].others}) {
      for (TracedAction& action : *list) {
        action.begin_ns += offsets.add_ns[rank];
        action.start_ns += offsets.add_ns[rank];
        action.end_ns += offsets.add_ns[rank];
      }
    }
  }
}

std::int32_t median_step(const std::vector<std::int64_t>& lengths) {
  std::vector<std::pair<std::int64_t, std::int32_t>> order;
  for (std::size_t k = 0; k < lengths.size(); ++k) order.emplace_back(lengths[k], static_cast<std::int32_t>(k));
  std::ranges::sort(order);
  return order[(order.size() - 1) / 2].second;
}

}  // namespace

bool is_traced_run(std::string_view bytes) {
  return is_gzip(bytes) || bytes.find("\"traceEvents\"") != std::string_view::npos;
}

TracedRun read_traced_run(std::vector<TraceFile> files, std::optional<std::int32_t> step) {
  std::vector<RankTrace> traces = read_traces(std::move(files));
  check_ranks(traces);
  std::vector<RankRun> runs;
  for (const RankTrace& trace : traces) runs.push_back(rank_run(trace));
  check_steps(runs);
  const TracedProducers producers(runs);
  TracedRun traced;
  align_clocks(runs, producers, traced);
  const std::int32_t steps = runs.front().steps;
  for (std::int32_t k = 0; k < steps; ++k) {
    const auto [begin, end] = step_bounds(runs, k);
    traced.step_ns.push_back(end - begin);
  }
  traced.step = step.value_or(median_step(traced.step_ns));
  if (traced.step < 0 || traced.step >= steps) {
    throw Error(traces.front().file + ": has steps 0 to " + std::to_string(steps - 1) + ", not " +
                std::to_string(traced.step));
  }
  traced.timeline = step_timeline(runs, producers, traced.step);
  traced.timeline.schedule = "traced run";
  traced.timeline.machine = "traced by PyTorch, " + std::to_string(runs.size()) + " ranks" +
                            (traces.front().backend.empty() ? "" : ", " + traces.front().backend);
  traced.profile = run_samples(runs, producers, calm_steps(traced.step_ns));
  traced.profile.machine = traced.timeline.machine;
  traced.profile.runtime = "pytorch";
  return traced;
}

}  // namespace plumb
