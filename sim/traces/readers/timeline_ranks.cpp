#include "sim/traces/readers/timeline_ranks.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace plumb {
namespace {

std::int64_t microbatches_per_update(const Timeline& timeline) {
  return std::max<std::int64_t>(1, timeline.num_microbatches / timeline.updates);
}

/// The stages are 0 to the last one, and each has a forward in every update.
std::string forwards_fault(const Timeline& timeline) {
  std::set<std::pair<std::int64_t, std::int32_t>> seen;  // update and stage
  std::int32_t stages = 0;
  for (const Span& span : timeline.spans) {
    if (span.lane != Lane::kCompute || span.action.op != Op::kF) continue;
    const std::int64_t update = static_cast<std::int64_t>(span.action.microbatch) / microbatches_per_update(timeline);
    if (update >= timeline.updates) continue;
    seen.emplace(update, static_cast<std::int32_t>(span.action.stage));
    stages = std::max(stages, static_cast<std::int32_t>(span.action.stage) + 1);
  }
  const bool all = !seen.empty() && std::ssize(seen) / stages == timeline.updates && std::ssize(seen) % stages == 0;
  return all ? "" : "has no forward of every stage in every update";
}

std::string fault_of(const Timeline& timeline, const Timeline& first) {
  if (timeline.kind != Timeline::Kind::kMeasured) return "is a prediction, expected a measured run";
  if (timeline.traced) return "is of a traced run, which is read alone";
  if (timeline.spans.empty()) return "is a summary without spans";
  if (!std::ranges::all_of(timeline.devices, &DeviceSummary::known)) return "has devices without a trace";
  const auto shape = [](const Timeline& run) {
    return std::tuple(run.schedule, run.devices.size(), run.num_microbatches, run.updates);
  };
  if (shape(timeline) != shape(first)) return "is of another schedule or size than the file before it";
  for (const Span& span : timeline.spans) {
    const Action& action = span.action;
    if (span.lane != Lane::kCompute) continue;
    if (action.replica != ReplicaId{0}) return "has several replicas of the model";
    if (action.slice != Action::kAllSlices) return "has slices of microbatches";
    if (action.merged != 0) return "has actions of several microbatches";
    if (action.overlaps_next != 0) return "has overlapped pairs, whose halves have no times of their own";
  }
  return forwards_fault(timeline);
}

bool is_sampled(Op op) { return op <= Op::kW || op == Op::kU; }

/// Reads the runs of one configuration, one after the other.
class TimelineReader {
 public:
  explicit TimelineReader(const Timeline& first)
      : runs_(first.devices.size()),
        per_update_(microbatches_per_update(first)),
        warm_(first.updates > 1 ? 1 : 0),
        steps_of_run_(static_cast<std::int32_t>(first.updates) - warm_) {}

  void read(const TimelineFile& file) {
    std::int64_t free_ns = 0;
    DeviceId device{-1};
    for (const Span& span : file.timeline.spans) {
      if (span.lane != Lane::kCompute) continue;
      if (device != span.device) free_ns = 0;
      device = span.device;
      free_ns = add(span, file.timeline.base, free_ns);
    }
    steps_ += steps_of_run_;
  }

  std::vector<RankRun> ranks(const std::string& file) {
    for (std::size_t rank = 0; rank < runs_.size(); ++rank) {
      RankRun& run = runs_[rank];
      run.file = file;
      run.rank = static_cast<std::int32_t>(rank);
      run.world_size = static_cast<std::int32_t>(runs_.size());
      run.runtime = "plumbline";
      run.steps = steps_;
      for (const TracedAction& work : run.work)
        run.stages = std::max(run.stages, static_cast<std::int32_t>(work.action.stage) + 1);
    }
    return std::move(runs_);
  }

 private:
  /// Returns when the span was over.
  std::int64_t add(const Span& span, Timebase base, std::int64_t free_ns) {
    TracedAction work;
    work.action = span.action;
    work.begin_ns = free_ns;
    work.start_ns = to_ns(span.start, base);
    work.end_ns = to_ns(span.end, base);
    const auto number = static_cast<std::int64_t>(span.action.microbatch);
    const bool of_microbatch = span.action.op <= Op::kR;
    const auto update = static_cast<std::int32_t>(of_microbatch ? number / per_update_ : number);
    if (of_microbatch) work.action.microbatch = MicrobatchId{static_cast<std::int32_t>(number % per_update_)};
    work.step = steps_ + update - warm_;
    RankRun& run = runs_[index(span.device)];
    if (update >= warm_ && update < warm_ + steps_of_run_)
      (is_sampled(span.action.op) ? run.work : run.others).push_back(work);
    return work.end_ns;
  }

  std::vector<RankRun> runs_;
  std::int64_t per_update_;
  std::int32_t warm_;
  std::int32_t steps_of_run_;
  std::int32_t steps_ = 0;
};

}  // namespace

std::string profile_fault(std::span<const TimelineFile> files) {
  for (const TimelineFile& file : files) {
    const std::string fault = fault_of(file.timeline, files.front().timeline);
    if (!fault.empty()) return file.name + ": " + fault;
  }
  return "";
}

std::vector<RankRun> ranks_of_timelines(std::span<const TimelineFile> files) {
  TimelineReader reader(files.front().timeline);
  for (const TimelineFile& file : files) reader.read(file);
  return reader.ranks(files.front().name);
}

}  // namespace plumb
