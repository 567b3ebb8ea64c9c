#include "sim/traces/run_samples.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "models/ground/undisturbed_mean.hpp"
#include "sim/traces/arrivals.hpp"
#include "sim/traces/crowd.hpp"

namespace plumb {
namespace {

using Samples = std::vector<std::int64_t>;

Measured measured(Samples& samples) {
  Measured result;
  if (samples.empty()) return result;
  std::ranges::sort(samples);
  const auto at = [&](double share) {
    return samples[static_cast<std::size_t>(share * static_cast<double>(samples.size() - 1) + 0.5)];
  };
  result = {.median_ns = at(0.5), .p10_ns = at(0.1), .p90_ns = at(0.9)};
  result.count = static_cast<std::int64_t>(samples.size());
  result.mean_ns = undisturbed_mean(samples, result.median_ns);
  return result;
}

struct PassSamples {
  std::map<Op, Samples> by_op;

  MeasuredPasses measure() {
    const auto of = [&](Op op) { return measured(by_op[op]); };
    return {.f = of(Op::kF), .b = of(Op::kB), .i = of(Op::kI), .w = of(Op::kW), .u = of(Op::kU)};
  }
};

/// Goes through the lanes of some steps.
class SampleReader {
 public:
  SampleReader(std::span<const RankRun> runs, const TracedProducers& producers)
      : runs_(runs), producers_(producers), arrivals_(runs), stages_(static_cast<std::size_t>(producers.stages())) {}

  void read(std::int32_t step) {
    step_ = step;
    sends_.clear();
    receives_.clear();
    for (const RankRun& run : runs_) note_calls(run);
    for (std::size_t rank = 0; rank < runs_.size(); ++rank) read_lane(rank);
    take_messages();
  }

  RunProfile profile() {
    RunProfile profile;
    for (PassSamples& stage : stages_) profile.stages.push_back(stage.measure());
    profile.inside = inside_.measure();
    profile.host = host_.measure();
    MeasuredMessages messages = measured_messages();
    messages.send = measured(send_);
    messages.send_posted = measured(send_posted_);
    messages.receive = measured(receive_);
    if (messages != MeasuredMessages{}) profile.messages = {std::move(messages)};
    return profile;
  }

 private:
  /// What a message carries: the stage that made it, whether it is a gradient, the microbatch.
  using Value = std::tuple<StageId, bool, MicrobatchId>;

  static bool is_sampled(Op op) { return op <= Op::kW || op == Op::kU; }
  static bool is_gradient(Op op) { return is_backward(op) || op == Op::kSendB || op == Op::kRecvB; }

  static Value value_of(const Action& action) {
    const bool gradient = is_gradient(action.op);
    if (!is_recv(action.op)) return {action.stage, gradient, action.microbatch};
    return {StageId{static_cast<std::int32_t>(action.stage) + (gradient ? 1 : -1)}, gradient, action.microbatch};
  }

  void note_calls(const RankRun& run) {
    for (const TracedAction& call : run.messages) {
      if (call.step != step_) continue;
      (is_send(call.action.op) ? sends_ : receives_)[value_of(call.action)] = &call;
    }
  }

  /// Returns everything that the lane of a rank did in the step, in order.
  std::vector<const TracedAction*> lane_of(const RankRun& run) const {
    std::vector<const TracedAction*> lane;
    for (const auto* list : {&run.work, &run.messages, &run.others}) {
      for (const TracedAction& one : *list) {
        if (one.step == step_) lane.push_back(&one);
      }
    }
    std::ranges::stable_sort(lane, {}, &TracedAction::begin_ns);
    return lane;
  }

  /// Returns when the rank's waits for its sends in the step ended, in ascending order.
  Samples send_waits(const RankRun& run) const {
    Samples ends;
    for (const TracedAction& call : run.messages) {
      if (call.step == step_ && call.waited_ns) ends.push_back(*call.waited_ns);
    }
    std::ranges::sort(ends);
    return ends;
  }

  void read_lane(std::size_t rank) {
    std::int64_t free = -1;
    const Samples waits = send_waits(runs_[rank]);
    auto wait = waits.begin();
    for (const TracedAction* one : lane_of(runs_[rank])) {
      const bool works = is_sampled(one->action.op);
      // Before some work, a program that waits for its send does so first, and then for what the work needs.
      std::int64_t turned = one->begin_ns;
      for (; wait != waits.end() && *wait <= (works ? one->start_ns : one->begin_ns); ++wait) {
        free = std::max(free, *wait);
        turned = std::max(turned, *wait);
      }
      const std::int64_t begin = free < 0 ? turned : std::min(free, turned);
      if (works) {
        read_work(rank, *one, {begin, turned});
      } else if (is_send(one->action.op)) {
        const auto receive = receives_.find(value_of(one->action));
        const bool posted = receive != receives_.end() && receive->second->end_ns < one->begin_ns;
        (posted ? send_posted_ : send_).push_back(one->end_ns - begin);
      } else if (is_recv(one->action.op)) {
        receive_.push_back(one->end_ns - begin);
      }
      free = std::max(free, one->end_ns);
    }
  }

  /// When the lane was free for some work, and when it turned to the message that the work needs.
  struct LaneMoments {
    std::int64_t free_ns = 0;
    std::int64_t turned_ns = 0;
  };

  void read_work(std::size_t rank, const TracedAction& work, const LaneMoments& lane) {
    const Op op = work.action.op;
    const std::int64_t took = work.end_ns - work.start_ns;
    stages_[index(work.action.stage)].by_op[op].push_back(took);
    // An I of the first stage, which does nothing, tells nothing about the others.
    if (work.action.stage != StageId{0} || op != Op::kI)
      inside_.by_op[op].push_back(work.operators_ns > 0 ? took - work.operators_ns : 0);
    const auto sent = message_start(rank, work);
    const std::int64_t there = sent ? arrivals_.of(work) : work.start_ns;
    // A kernel that receives tells how long its message took, whether somebody waited for it or not.
    const bool seen = sent && arrivals_.is_observed(work);
    const bool observed = sent && *sent < there && (seen || 2 * (there - lane.turned_ns) >= there - *sent);
    if (sent && *sent < there) (observed ? observed_ : inferred_).push_back({*sent, there});
    if (seen) {
      host_.by_op[op].push_back(work.start_ns - std::clamp(there, lane.free_ns, work.start_ns));
    } else if (!observed) {
      host_.by_op[op].push_back(work.start_ns - lane.free_ns);
    }
  }

  /// Takes the times of messages. If nobody waited for one, it is only known when it was there at the latest: it is
  /// taken to have gone as fast as the others.
  void take_messages() {
    Samples took;
    for (const Flight& flight : observed_) took.push_back(flight.end_ns - flight.start_ns);
    const std::int64_t usual = measured(took).median_ns;
    std::vector<Flight> all = observed_;
    for (const Flight& flight : inferred_) {
      all.push_back({flight.start_ns, flight.start_ns + std::min(flight.end_ns - flight.start_ns, usual)});
    }
    const Crowd crowd(all);
    for (const Flight& flight : observed_) {
      messages_.push_back({crowd.mean(flight.start_ns, flight.end_ns), flight.end_ns - flight.start_ns});
    }
    observed_.clear();
    inferred_.clear();
  }

  /// Returns what a message takes alone; with all of them where none was alone.
  MeasuredMessages measured_messages() {
    MeasuredMessages result;
    Samples all;
    for (const CrowdedMessage& message : messages_) all.push_back(message.took_ns);
    const Measured usual = measured(all);
    std::erase_if(messages_, [&](const CrowdedMessage& m) { return is_disturbance(m.took_ns, usual.median_ns); });
    Samples alone;
    for (const CrowdedMessage& message : messages_) {
      if (message.mean < kAlone) alone.push_back(message.took_ns);
    }
    result.message = alone.empty() ? usual : measured(alone);
    if (!alone.empty()) {
      result.capacity = message_capacity(messages_, static_cast<double>(result.message.expected_ns()));
    }
    return result;
  }

  /// Returns when the message that the work needs could start; nothing where it needs none.
  std::optional<std::int64_t> message_start(std::size_t rank, const TracedAction& work) const {
    const auto place = producers_.of(work);
    if (!place || place->rank == rank) return std::nullopt;
    const TracedAction& producer = runs_[place->rank].work[place->at];
    const Value value = value_of(producer.action);
    const auto send = sends_.find(value);
    const auto receive = receives_.find(value);
    std::int64_t start = send == sends_.end() ? producer.end_ns : send->second->begin_ns;
    if (receive != receives_.end()) start = std::max(start, receive->second->end_ns);
    return start;
  }

  std::span<const RankRun> runs_;
  const TracedProducers& producers_;
  Arrivals arrivals_;
  std::int32_t step_ = 0;
  std::map<Value, const TracedAction*> sends_;
  std::map<Value, const TracedAction*> receives_;
  std::vector<PassSamples> stages_;
  PassSamples inside_;
  PassSamples host_;
  Samples send_;
  Samples send_posted_;
  Samples receive_;
  std::vector<Flight> observed_;  ///< messages of the step that somebody waited for most of the time
  std::vector<Flight> inferred_;  ///< messages of the step whose arrival is known only at the latest
  std::vector<CrowdedMessage> messages_;
};

}  // namespace

RunProfile run_samples(std::span<const RankRun> runs, const TracedProducers& producers,
                       std::span<const std::int32_t> steps) {
  SampleReader reader(runs, producers);
  for (const std::int32_t step : steps) reader.read(step);
  return reader.profile();
}

}  // namespace plumb
