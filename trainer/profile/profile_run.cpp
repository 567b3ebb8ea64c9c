#include "trainer/profile/profile_run.hpp"

#include <algorithm>
#include <utility>

#include "models/costs/longest_edge.hpp"
#include "models/ground/error.hpp"
#include "models/stages/network_costs.hpp"
#include "schedules/program/in_flight.hpp"
#include "trainer/backends/backends.hpp"
#include "trainer/executors/executor.hpp"
#include "trainer/profile/mirrored_schedule.hpp"
#include "trainer/profile/profile_schedule.hpp"
#include "trainer/train.hpp"

namespace plumb {
namespace {

/// Beyond what any memory copies: the copies are part of the actions.
constexpr double kUncountedBytesPerSecond = 1e12;

Timeline measured_timeline_of(const ProfileOptions& options, const Schedule& schedule) {
  TrainOptions train_options;
  train_options.model.network = options.network;
  train_options.model.partition = options.partition;
  train_options.schedule = schedule;
  train_options.model.shape = options.shape;
  train_options.data = options.data;
  train_options.optimization.optimizer = options.optimizer;
  train_options.model.numbers = options.numbers;
  train_options.execution.backend = options.backend;
  train_options.execution.executor = usual_executor(backend(options.backend));
  train_options.execution.clock = options.clock;
  train_options.execution.streams = options.streams;
  train_options.observation.memory_curve = false;
  return train(train_options).timeline.value();
}

}  // namespace

Timeline profiled_run(const ProfileOptions& options, const ProfileKind& kind) {
  const std::int64_t m = kind.alone ? 1 : options.microbatches;
  // A load that changes ends, as it begins, with a rest: at least rest, load, rest.
  const std::int64_t updates = kind.changing ? 2 * std::max<std::int64_t>(2, options.updates) - 1
                                             : 1 + options.updates * options.microbatches / m;
  return measured_timeline_of(options,
                              profile_schedule({.devices = options.num_devices,
                                                .stages = static_cast<std::int32_t>(options.partition.num_stages()),
                                                .microbatches = m,
                                                .updates = updates},
                                               kind));
}

Timeline mirrored_run(const ProfileOptions& options, bool alone) {
  constexpr std::int64_t kLeastUpdates = 3;  // how often an action is to be seen alone
  const std::int64_t m = alone ? 2 : std::max<std::int64_t>(2, options.microbatches / 2 * 2);
  return measured_timeline_of(options,
                              mirrored_schedule({.devices = options.num_devices,
                                                 .stages = static_cast<std::int32_t>(options.partition.num_stages()),
                                                 .microbatches = m,
                                                 .updates = 1 + std::max(kLeastUpdates, options.updates)},
                                                alone));
}

Profile described_profile(const ProfileOptions& options, const std::string& machine) {
  Profile profile;
  profile.machine = machine;
  profile.backend = options.backend;
  profile.network = options.network.name;
  profile.shape = options.shape;
  profile.precision = precision_of(options.numbers, options.optimizer);
  return profile;
}

ProfiledTransfer profiled_transfer(const ProfileOptions& options, const ProfileSamples& samples) {
  const StageCosts costs = untimed_costs(options.network, options.partition, options.shape,
                                         precision_of(options.numbers, options.optimizer));
  return {largest_message(costs), samples.hand_over().p10_ns, kUncountedBytesPerSecond};
}

ProfileOptions with_devices(ProfileOptions options) {
  const auto stages = static_cast<std::int32_t>(options.partition.num_stages());
  if (options.num_devices == 0) options.num_devices = stages;
  if (options.num_devices < 1 || options.num_devices > stages) {
    throw Error("profile: " + std::to_string(options.num_devices) + " devices for " + std::to_string(stages) +
                " stages; expected at least one stage per device");
  }
  return options;
}

StageProfiler::StageProfiler(ProfileOptions options)
    : options_(with_devices(std::move(options))),
      regular_(options_.partition.num_stages()),
      crowded_(options_.partition.num_stages()) {
  const ProfileShape shape{.devices = options_.num_devices,
                           .stages = static_cast<std::int32_t>(options_.partition.num_stages()),
                           .microbatches = options_.microbatches,
                           .updates = 1};
  regular_.set_in_flight(peak_in_flight(profile_schedule(shape, {})));
  crowded_.set_in_flight(peak_in_flight(profile_schedule(shape, {.crowded = true})));
}

std::vector<ProfileKind> StageProfiler::round() const {
  std::vector<ProfileKind> kinds;
  for (const bool split : {false, true}) {
    kinds.push_back({.split = split});
    if (options_.crowded) kinds.push_back({.split = split, .crowded = true});
  }
  if (options_.crowded) kinds.push_back({.copies = true});
  return kinds;
}

void StageProfiler::measure(const ProfileKind& kind) {
  const Timeline run = profiled_run(options_, kind);
  if (machine_.empty()) machine_ = run.machine;
  if (kind.copies) {
    regular_.add_copies(run, options_.microbatches);
  } else {
    (kind.crowded ? crowded_ : regular_).add(run, options_.microbatches);
  }
}

void StageProfiler::measure_round() {
  for (const ProfileKind& kind : round()) measure(kind);
}

void StageProfiler::add(const StageProfiler& other) {
  if (machine_.empty()) machine_ = other.machine_;
  regular_.add(other.regular_);
  crowded_.add(other.crowded_);
}

Profile StageProfiler::profile() const {
  Profile profile = described_profile(options_, machine_);
  profile.stages = regular_.stages(options_.partition);
  if (options_.crowded) profile.crowded = crowded_.stages(options_.partition);
  if (options_.num_devices > 1) profile.transfers = {profiled_transfer(options_, regular_)};
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
