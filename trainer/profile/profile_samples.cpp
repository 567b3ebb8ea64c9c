#include "trainer/profile/profile_samples.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace plumb {
namespace {

/// What takes a message: whether it is a forward, of which stage and microbatch.
using Consumers = std::map<std::tuple<bool, StageId, MicrobatchId>, const Span*>;

/// A hand-over counts when its consumer was waiting for it.
void add_hand_over(const Span& message, const Consumers& consumers, std::vector<Ticks>& hand_overs) {
  const bool forward = message.action.op != Op::kSendB;
  const StageId stage{static_cast<std::int32_t>(message.action.stage) + (forward ? 1 : -1)};
  const auto found = consumers.find({forward, stage, message.action.microbatch});
  if (found == consumers.end()) return;
  const Span& consumer = *found->second;
  if (consumer.start - consumer.idle_before < message.end) hand_overs.push_back(consumer.start - message.end);
}

Measured summary(std::vector<Ticks> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const auto at = [&](std::size_t percent) { return samples[(samples.size() - 1) * percent / 100]; };
  const auto count = static_cast<std::int64_t>(samples.size());
  return {at(50), at(10), at(90), count, std::accumulate(samples.begin(), samples.end(), Ticks{0}) / count};
}

}  // namespace

void ProfileSamples::add(const Timeline& timeline, std::int64_t warm_microbatches) {
  Consumers consumers;
  for (const Span& span : timeline.spans) {
    const Op op = span.action.op;
    if (span.lane != Lane::kCompute || is_move(op)) continue;
    const bool warm = op == Op::kU ? index(span.action.microbatch) > 0
                                   : static_cast<std::int64_t>(span.action.microbatch) >= warm_microbatches;
    if (!warm) continue;
    by_op_[index(span.action.stage)][static_cast<std::size_t>(op)].push_back(span.end - span.start);
    if (op == Op::kF || is_backward(op)) consumers[{op == Op::kF, span.action.stage, span.action.microbatch}] = &span;
  }
  for (const Span& span : timeline.spans) {
    if (span.lane == Lane::kTransfer) add_hand_over(span, consumers, hand_overs_);
  }
}

void ProfileSamples::add(const ProfileSamples& other) {
  for (std::size_t stage = 0; stage < by_op_.size(); ++stage) {
    for (std::size_t op = 0; op < kOpCount; ++op) {
      const std::vector<Ticks>& more = other.by_op_[stage][op];
      by_op_[stage][op].insert(by_op_[stage][op].end(), more.begin(), more.end());
    }
  }
  hand_overs_.insert(hand_overs_.end(), other.hand_overs_.begin(), other.hand_overs_.end());
}

void ProfileSamples::add_copies(const Timeline& timeline, std::int64_t warm_microbatches) {
  for (const Span& span : timeline.spans) {
    const bool warm = static_cast<std::int64_t>(span.action.microbatch) >= warm_microbatches;
    if (span.lane != Lane::kCompute || !is_move(span.action.op) || !warm) continue;
    by_op_[index(span.action.stage)][static_cast<std::size_t>(span.action.op)].push_back(span.end - span.start);
  }
}

Measured ProfileSamples::hand_over() const { return summary(hand_overs_); }

Measured ProfileSamples::of(std::size_t stage, Op op) const {
  return summary(by_op_[stage][static_cast<std::size_t>(op)]);
}

std::vector<ProfiledTimes> ProfileSamples::stages(const Partition& partition) const {
  std::vector<ProfiledTimes> stages;
  for (std::size_t stage = 0; stage < partition.num_stages(); ++stage) {
    stages.push_back({.layers = partition.range(stage),
                      .in_flight = in_flight_[stage],
                      .f = of(stage, Op::kF),
                      .b = of(stage, Op::kB),
                      .i = of(stage, Op::kI),
                      .w = of(stage, Op::kW),
                      .r = {},
                      .u = of(stage, Op::kU),
                      .evict = of(stage, Op::kEvict),
                      .load = of(stage, Op::kLoad)});
  }
  return stages;
}

}  // namespace plumb
