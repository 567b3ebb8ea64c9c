#include "trainer/profile_run.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "models/error.hpp"
#include "models/longest_edge.hpp"
#include "models/network_costs.hpp"
#include "schedules/in_flight.hpp"
#include "trainer/backends.hpp"
#include "trainer/executor.hpp"
#include "trainer/measured_timeline.hpp"
#include "trainer/train.hpp"

namespace plumb {
namespace {

/// Beyond what any memory copies: the copies are part of the actions.
constexpr double kUncountedBytesPerSecond = 1e12;

/// How a round trains.
struct RoundKind {
  bool split = false;    ///< I and W apart
  bool crowded = false;  ///< all forwards of an update before its backwards
  bool copies = false;   ///< stashes go to the host and back; nothing else of it counts
};

/// 1F1B of devices, or GPipe where it is crowded; device d runs stages [d S / P, (d + 1) S / P), forwards in order,
/// backwards in reverse. With split backwards, W is put off by d microbatches.
class GroupedSchedule {
 public:
  GroupedSchedule(std::int32_t devices, std::int32_t stages, const ProfileOptions& options, RoundKind kind)
      : stages_(stages), devices_(devices), m_(options.microbatches), kind_(kind) {
    schedule_.name = kind.copies ? "profile-copies" : kind.split ? "profile-split" : "profile-fused";
    schedule_.num_devices = devices;
    schedule_.num_stages = stages;
    schedule_.microbatches_per_update = {m_};
    schedule_.num_microbatches = m_ * (options.updates + 1);
    schedule_.placement.resize(1);
    for (std::int32_t device = 0; device < devices; ++device) {
      for (std::int32_t stage = first(device); stage < first(device + 1); ++stage) {
        schedule_.placement[0].push_back({DeviceId{device}});
      }
      DeviceList list;
      for (std::int64_t update = 0; update <= options.updates; ++update) add_update(device, update, list);
      schedule_.devices.push_back(std::move(list));
    }
  }

  Schedule take() { return std::move(schedule_); }

 private:
  std::int32_t first(std::int32_t device) const {
    return static_cast<std::int32_t>(std::int64_t{device} * stages_ / devices_);
  }

  void add(DeviceList& list, std::int32_t stage, Op op, std::int64_t number) const {
    Action action;
    action.stage = StageId{stage};
    action.op = op;
    action.microbatch = MicrobatchId{static_cast<std::int32_t>(number)};
    if (is_move(op)) action.where = Action::kHost;
    list.actions.push_back(action);
  }

  void add_update(std::int32_t device, std::int64_t update, DeviceList& list) const {
    const std::int64_t begin = update * m_;
    const std::int64_t warmup = kind_.crowded ? m_ : std::min<std::int64_t>(devices_ - 1 - device, m_);
    // As in zero-bubble schedules: what a late W reads has left the caches, and it takes longer.
    const std::int64_t put_off = std::min<std::int64_t>(device, m_);
    for (std::int64_t i = 0; i < warmup; ++i) add_forward(device, begin + i, list);
    for (std::int64_t i = 0; i < m_; ++i) {
      if (warmup + i < m_) add_forward(device, begin + warmup + i, list);
      add_backwards(device, kind_.split ? Op::kI : Op::kB, begin + i, list);
      if (kind_.split && i >= put_off) add_backwards(device, Op::kW, begin + i - put_off, list);
    }
    for (std::int64_t i = m_ - put_off; kind_.split && i < m_; ++i) add_backwards(device, Op::kW, begin + i, list);
    for (std::int32_t stage = first(device); stage < first(device + 1); ++stage) add(list, stage, Op::kU, update);
  }

  void add_forward(std::int32_t device, std::int64_t microbatch, DeviceList& list) const {
    for (std::int32_t stage = first(device); stage < first(device + 1); ++stage) {
      add(list, stage, Op::kF, microbatch);
      if (kind_.copies) add(list, stage, Op::kEvict, microbatch);
    }
  }

  void add_backwards(std::int32_t device, Op op, std::int64_t microbatch, DeviceList& list) const {
    for (std::int32_t stage = first(device + 1); stage-- > first(device);) {
      if (kind_.copies) add(list, stage, Op::kLoad, microbatch);
      add(list, stage, op, microbatch);
    }
  }

  std::int32_t stages_;
  std::int32_t devices_;
  std::int64_t m_;
  RoundKind kind_;
  Schedule schedule_;
};

Schedule round_schedule(const ProfileOptions& options, RoundKind kind) {
  const auto stages = static_cast<std::int32_t>(options.partition.num_stages());
  return GroupedSchedule(options.num_devices, stages, options, kind).take();
}

Timeline measured_timeline_of(const ProfileOptions& options, const Schedule& schedule) {
  TrainOptions train_options;
  train_options.network = options.network;
  train_options.partition = options.partition;
  train_options.schedule = schedule;
  train_options.shape = options.shape;
  train_options.data = options.data;
  train_options.optimizer = options.optimizer;
  train_options.numbers = options.numbers;
  train_options.backend = options.backend;
  train_options.executor = usual_executor(backend(options.backend));
  train_options.streams = options.streams;
  train_options.memory_curve = false;
  return train(train_options).timeline.value();
}

Precision precision(const ProfileOptions& options) {
  return options.numbers == NumberType::kFloat64 ? precision_of<double>(options.optimizer)
                                                 : precision_of<float>(options.optimizer);
}

}  // namespace

/// Collects durations by stage and op, and hand-over times.
class StageProfiler::Samples {
 public:
  explicit Samples(std::size_t stages) : by_op_(stages), in_flight_(stages) {}

  void measure(const ProfileOptions& options, RoundKind kind) {
    const Schedule schedule = round_schedule(options, kind);
    if (!kind.split) in_flight_ = peak_in_flight(schedule);
    add(measured_timeline_of(options, schedule), options.microbatches, kind.copies);
  }

  Measured hand_over() const { return summary(hand_overs_); }

  std::vector<ProfiledTimes> stages(const Partition& partition) const {
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

 private:
  void add(const Timeline& timeline, std::int64_t warm_microbatches, bool copies) {
    std::map<std::tuple<bool, StageId, MicrobatchId>, const Span*> consumers;
    for (const Span& span : timeline.spans) {
      const Op op = span.action.op;
      if (span.lane != Lane::kCompute || is_move(op) != copies) continue;
      const bool warm = op == Op::kU ? index(span.action.microbatch) > 0
                                     : static_cast<std::int64_t>(span.action.microbatch) >= warm_microbatches;
      if (!warm) continue;
      by_op_[index(span.action.stage)][static_cast<std::size_t>(op)].push_back(span.end - span.start);
      if (op == Op::kF || is_backward(op)) consumers[{op == Op::kF, span.action.stage, span.action.microbatch}] = &span;
    }
    for (const Span& span : timeline.spans) {
      if (span.lane == Lane::kTransfer && !copies) add_hand_over(span, consumers);
    }
  }

  Measured of(std::size_t stage, Op op) const { return summary(by_op_[stage][static_cast<std::size_t>(op)]); }
  /// A hand-over counts when its consumer was waiting for it.
  void add_hand_over(const Span& message,
                     const std::map<std::tuple<bool, StageId, MicrobatchId>, const Span*>& consumers) {
    const bool forward = message.action.op != Op::kSendB;
    const StageId stage{static_cast<std::int32_t>(message.action.stage) + (forward ? 1 : -1)};
    const auto found = consumers.find({forward, stage, message.action.microbatch});
    if (found == consumers.end()) return;
    const Span& consumer = *found->second;
    if (consumer.start - consumer.idle_before < message.end) hand_overs_.push_back(consumer.start - message.end);
  }

  static Measured summary(std::vector<Ticks> samples) {
    if (samples.empty()) return {};
    std::sort(samples.begin(), samples.end());
    const auto at = [&](std::size_t percent) { return samples[(samples.size() - 1) * percent / 100]; };
    const auto count = static_cast<std::int64_t>(samples.size());
    return {at(50), at(10), at(90), count, std::accumulate(samples.begin(), samples.end(), Ticks{0}) / count};
  }

  std::vector<std::array<std::vector<Ticks>, kOpCount>> by_op_;  ///< by stage
  std::vector<std::int64_t> in_flight_;                          ///< by stage
  std::vector<Ticks> hand_overs_;
};

StageProfiler::StageProfiler(ProfileOptions options)
    : options_(std::move(options)),
      calm_(std::make_unique<Samples>(options_.partition.num_stages())),
      crowded_(std::make_unique<Samples>(options_.partition.num_stages())) {
  const auto stages = static_cast<std::int32_t>(options_.partition.num_stages());
  if (options_.num_devices == 0) options_.num_devices = stages;
  if (options_.num_devices < 1 || options_.num_devices > stages) {
    throw Error("profile: " + std::to_string(options_.num_devices) + " devices for " + std::to_string(stages) +
                " stages; expected at least one stage per device");
  }
}

StageProfiler::~StageProfiler() = default;

void StageProfiler::measure_round() {
  for (const bool split : {false, true}) {
    calm_->measure(options_, {.split = split, .crowded = false});
    crowded_->measure(options_, {.split = split, .crowded = true});
  }
  calm_->measure(options_, {.copies = true});
}

Profile StageProfiler::profile() const {
  Profile profile;
  profile.machine = machine_description();
  profile.backend = options_.backend;
  profile.network = options_.network.name;
  profile.shape = options_.shape;
  profile.precision = precision(options_);
  profile.stages = calm_->stages(options_.partition);
  profile.crowded = crowded_->stages(options_.partition);
  if (options_.num_devices > 1) {
    const StageCosts costs = untimed_costs(options_.network, options_.partition, options_.shape, profile.precision);
    profile.transfers = {{largest_message(costs), calm_->hand_over().median_ns, kUncountedBytesPerSecond}};
  }
  return profile;
}

Profile profile_run(const ProfileOptions& options) {
  StageProfiler profiler(options);
  for (std::int64_t round = 0; round < options.rounds; ++round) {
    profiler.measure_round();
    if (options.on_round) options.on_round(round);
  }
  return profiler.profile();
}

}  // namespace plumb
