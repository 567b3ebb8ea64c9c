#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "models/network/network.hpp"
#include "models/sources/run_profile.hpp"
#include "schedules/document/schedule.hpp"
#include "sim/prediction/memory_fit.hpp"
#include "sim/runtimes/run_rules.hpp"
#include "sim/timeline/timeline.hpp"
#include "tools/options/cost_arguments.hpp"

namespace plumb {

/// What the user knows besides the run.
struct AdviceOptions {
  std::optional<double> memory_limit = {};  ///< of a device: bytes with a network, else stashes of 1/p of the model
  std::optional<Network> network = {};      ///< whose memory is counted, cut into equal parts
  std::string runtime = {};  ///< that ran the run, as in `--runtime`; empty: the one that its traces look like
  std::string given = {};    ///< all these as words of a command line (" --memory-limit 4"), for printed commands
};

/// Predicts schedules with the costs of a traced run.
class RunPredictor {
 public:
  /// `options` must outlive it.
  RunPredictor(const RunProfile& profile, std::string_view runtime, const AdviceOptions& options);

  /// What schedules are searched for on `num_devices` devices: the run's costs, within the memory limit.
  SearchGoal goal(std::int32_t num_devices) const;

  /// What a device may hold: with a network, bytes that it needs with the allocator's reserve, of a GPU that nobody
  /// measured; without one, stashes.
  MemoryLimit memory_limit(const Schedule& schedule) const;

  /// `replicas`: pipelines beside each other, which reduce their gradients after the last backward of a stage, as fast
  /// as the run's messages went (`reduction_ns`). `spans`: with all actions, for a page.
  Timeline predict(Schedule schedule, std::int32_t replicas, bool spans = false) const;

  /// What a ring of `replicas` takes to reduce the gradients of a stage, by stage: 2 (n - 1) / n times its bytes, at
  /// the rate at which the largest message of the network, cut as in the run, would have gone. Nothing where there is
  /// no network, or the run had no messages.
  std::optional<std::vector<std::int64_t>> reduction_ns(std::int32_t num_stages, std::int32_t replicas) const;

 private:
  /// Bytes with a network, otherwise stashes of a stage.
  void add_memory(StageCosts& costs, std::int32_t num_devices) const;
  std::vector<StageMemory> memory_of(std::int32_t num_stages) const;

  const AdviceOptions& options_;
  CostArguments arguments_;
  CostSource source_;
  RunRules rules_;
};

/// Costs of a run that are not known exactly, and not common to all schedules.
enum class UnsureCost : std::uint8_t {
  kMessages,  ///< messages and the calls that send and receive
  kHost,      ///< the host between actions
  kInside,    ///< the part of an action that stays when a stage is cut
};

inline constexpr std::size_t kUnsureCostCount = 3;

/// `profile` with the 10th (or 90th) percentile of one kind of costs instead of what is expected.
RunProfile profile_with_tenth(RunProfile profile, UnsureCost cost, bool high);

}  // namespace plumb
