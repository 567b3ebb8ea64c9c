#include "sim/traces/step_timeline.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "sim/lanes/metrics.hpp"
#include "sim/traces/arrivals.hpp"

namespace plumb {
namespace {

using Lanes = std::pair<std::size_t, std::size_t>;  ///< sending and receiving rank

std::size_t cause_index(IdleCause cause) { return static_cast<std::size_t>(cause); }

/// Builds the timeline of one step, rank by rank.
class StepReader {
 public:
  StepReader(std::span<const RankRun> runs, const TracedProducers& producers, std::int32_t step)
      : runs_(runs), producers_(producers), arrivals_(runs), step_(step) {
    std::tie(begin_, end_) = step_bounds(runs, step);
    find_sends();
    find_fastest();
  }

  Timeline read() {
    Timeline timeline;
    timeline.kind = Timeline::Kind::kMeasured;
    timeline.makespan = end_ - begin_;
    timeline.num_microbatches = microbatches();
    for (std::size_t rank = 0; rank < runs_.size(); ++rank) add_rank(rank, timeline);
    fill_metrics(timeline, {}, false, {});
    return timeline;
  }

 private:
  Ticks at(std::int64_t ns) const { return ns - begin_; }

  /// Finds when a rank's call that sent a value was begun and over, by what was sent.
  void find_sends() {
    for (const RankRun& run : runs_) {
      for (const TracedAction& message : run.messages) {
        if (message.step == step_ && is_send(message.action.op)) sends_[key_of(message.action)] = &message;
      }
    }
  }

  static std::tuple<StageId, bool, MicrobatchId> key_of(const Action& action) {
    return {action.stage, is_backward(action.op) || action.op == Op::kSendB, action.microbatch};
  }

  /// Returns when the message with what `producer` made was on its way: the end of the call, or of the work.
  std::int64_t issued(const TracedAction& producer) const {
    const auto found = sends_.find(key_of(producer.action));
    return found == sends_.end() ? producer.end_ns : std::max(producer.end_ns, found->second->end_ns);
  }

  void find_fastest() {
    each_message([&](const Lanes& lanes, const TracedAction& producer, const TracedAction& consumer) {
      const std::int64_t took = std::max<std::int64_t>(0, arrivals_.of(consumer) - issued(producer));
      const auto [entry, is_new] = fastest_.emplace(lanes, took);
      if (!is_new) entry->second = std::min(entry->second, took);
    });
  }

  template <class Visit>
  void each_message(Visit visit) const {
    for (std::size_t rank = 0; rank < runs_.size(); ++rank) {
      for (const TracedAction& work : runs_[rank].work) {
        if (work.step != step_) continue;
        const auto producer = producers_.of(work);
        if (producer && producer->rank != rank) {
          visit(Lanes{producer->rank, rank}, runs_[producer->rank].work[producer->at], work);
        }
      }
    }
  }

  std::int64_t microbatches() const {
    std::set<MicrobatchId> numbers;
    for (const RankRun& run : runs_) {
      for (const TracedAction& work : run.work) {
        if (work.step == step_) numbers.insert(work.action.microbatch);
      }
    }
    return static_cast<std::int64_t>(numbers.size());
  }

  /// Splits the gap between `free` (the end of the work before) and the begin of `work` by cause.
  std::array<Ticks, kIdleCauseCount> split_gap(std::size_t rank, std::int64_t free, const TracedAction& work) const {
    std::array<Ticks, kIdleCauseCount> causes{};
    std::int64_t now = free;
    const auto until = [&](std::int64_t moment, IdleCause cause) {
      const std::int64_t next = std::clamp(moment, now, std::max(now, work.start_ns));
      causes[cause_index(cause)] += next - now;
      now = next;
    };
    const auto place = producers_.of(work);
    if (place && place->rank != rank) {
      const TracedAction& producer = runs_[place->rank].work[place->at];
      const std::int64_t fastest = fastest_.at({place->rank, rank});
      until(producer.end_ns, IdleCause::kCompute);
      const std::int64_t sent = issued(producer);
      // Where the message can have been there before the lane turned to it, the lane's host is what it waited for.
      const std::int64_t soonest = arrivals_.is_observed(work) ? arrivals_.of(work) : sent + fastest;
      if (soonest > work.begin_ns) {
        until(sent, IdleCause::kOverhead);
        until(std::min(sent + fastest, arrivals_.of(work)), IdleCause::kTransferBandwidth);
        until(arrivals_.of(work), IdleCause::kTransferQueue);
      }
    }
    until(work.begin_ns, IdleCause::kOverhead);
    until(arrivals_.of(work), producers_.is_missing(work) ? IdleCause::kUnknown : IdleCause::kOverhead);
    until(work.start_ns, IdleCause::kOverhead);
    return causes;
  }

  /// Counts the stashes of the rank: F leaves one per microbatch, which B or W takes away. What a forward left that is
  /// not in the trace is not known, so that what takes it away takes nothing.
  void count_stashes(const Action& action, DeviceSummary& device) {
    if (action.op != Op::kF && action.op != Op::kB && action.op != Op::kW) return;
    for (std::int32_t more = 0; more <= action.merged; ++more) {
      const auto key =
          std::pair(action.stage, MicrobatchId{static_cast<std::int32_t>(index(action.microbatch)) + more});
      if (action.op == Op::kF) stashes_.insert(key);
      if (action.op != Op::kF) stashes_.erase(key);
    }
    device.peak_activations = std::max(device.peak_activations, static_cast<double>(stashes_.size()));
  }

  void add_work(std::size_t rank, const TracedAction& work, DeviceSummary& device, Timeline& timeline) {
    Span span{.action = work.action,
              .device = DeviceId{static_cast<std::int32_t>(rank)},
              .start = at(work.start_ns),
              .end = at(work.end_ns)};
    if (device.busy == 0) {
      device.first_start = span.start;
      device.idle_causes[cause_index(IdleCause::kWarmup)] = span.start;
    } else if (span.start > device.last_end) {
      const auto causes = split_gap(rank, begin_ + device.last_end, work);
      span.idle_before = span.start - device.last_end;
      span.waited_for = static_cast<IdleCause>(std::ranges::max_element(causes) - causes.begin());
      for (std::size_t c = 0; c < causes.size(); ++c) device.idle_causes[c] += causes[c];
    }
    const Ticks from = device.busy == 0 ? span.start : std::max(span.start, device.last_end);
    const Ticks took = std::max<Ticks>(0, span.end - from);
    device.busy += took;
    if (work.action.op != Op::kR) device.useful += took;
    device.last_end = std::max(device.last_end, span.end);
    timeline.spans.push_back(span);
    count_stashes(work.action, device);
  }

  void add_rank(std::size_t rank, Timeline& timeline) {
    DeviceSummary device;
    device.known = !runs_[rank].work.empty();
    if (!device.known) {
      timeline.devices.push_back(device);
      return;
    }
    const std::size_t first = timeline.spans.size();
    stashes_.clear();
    for (const TracedAction& work : runs_[rank].work) {
      if (work.step == step_) add_work(rank, work, device, timeline);
    }
    device.idle_causes[cause_index(IdleCause::kDrain)] = timeline.makespan - device.last_end;
    for (const TracedAction& other : runs_[rank].others) {
      if (other.step == step_) {
        timeline.spans.push_back({.action = other.action,
                                  .device = DeviceId{static_cast<std::int32_t>(rank)},
                                  .lane = Lane::kCollective,
                                  .start = at(other.start_ns),
                                  .end = at(other.end_ns)});
      }
    }
    add_messages(rank, timeline);
    std::stable_sort(timeline.spans.begin() + static_cast<std::ptrdiff_t>(first), timeline.spans.end(),
                     [](const Span& a, const Span& b) { return a.start < b.start; });
    timeline.devices.push_back(device);
  }

  /// Messages that the rank sent: from the call to the moment when the receiver has them, or goes on.
  void add_messages(std::size_t rank, Timeline& timeline) const {
    each_message([&](const Lanes& lanes, const TracedAction& producer, const TracedAction& consumer) {
      if (lanes.first != rank) return;
      Action action = producer.action;
      action.op = producer.action.op == Op::kF ? Op::kSendF : Op::kSendB;
      const std::int64_t arrived = arrivals_.of(consumer);
      const std::int64_t sent = std::min(issued(producer), arrived);
      timeline.spans.push_back({.action = action,
                                .device = DeviceId{static_cast<std::int32_t>(rank)},
                                .lane = Lane::kTransfer,
                                .start = at(sent),
                                .end = at(arrived)});
    });
  }

  std::span<const RankRun> runs_;
  const TracedProducers& producers_;
  Arrivals arrivals_;
  std::int32_t step_;
  std::set<std::pair<StageId, MicrobatchId>> stashes_;  ///< stashes of the rank that is being added
  std::int64_t begin_ = 0;
  std::int64_t end_ = 0;
  std::map<std::tuple<StageId, bool, MicrobatchId>, const TracedAction*> sends_;
  std::map<Lanes, std::int64_t> fastest_;  ///< from the end of the call to the end of the wait
};

}  // namespace

std::pair<std::int64_t, std::int64_t> step_bounds(std::span<const RankRun> runs, std::int32_t step) {
  std::int64_t begin = std::numeric_limits<std::int64_t>::max();
  std::int64_t end = std::numeric_limits<std::int64_t>::min();
  for (const RankRun& run : runs) {
    for (const auto* list : {&run.work, &run.messages, &run.others}) {
      for (const TracedAction& action : *list) {
        if (action.step != step) continue;
        begin = std::min(begin, action.begin_ns);
        end = std::max(end, action.end_ns);
      }
    }
  }
  return {begin, end};
}

Timeline step_timeline(std::span<const RankRun> runs, const TracedProducers& producers, std::int32_t step) {
  return StepReader(runs, producers, step).read();
}

}  // namespace plumb
