#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/jobs/parallelism.hpp"
#include "models/network/network.hpp"
#include "schedules/catalogue/registry.hpp"
#include "sim/plan_search/pipeline_plan.hpp"
#include "sim/plan_search/plan_job.hpp"

namespace plumb {

/// What a training system can run of all that `plan` searches.
struct PlanRuntime {
  std::string_view name;                              ///< as in `--runtime`, and of its row in sim/runtimes
  std::string_view title;                             ///< "Megatron-LM"
  std::span<const std::string_view> schedules{};      ///< of the catalogue; empty: what PyTorch's CSV can say
  std::span<const std::string_view> schedules_too{};  ///< that it has beside these, but that are not searched
  std::span<const ZeroStage> zero{};                  ///< ZeRO stages that are searched
  std::span<const ZeroStage> zero_too{};              ///< and those that are not, but can be asked for
  std::span<const ActivationRecompute> recompute{};   ///< within layers
  std::span<const std::string_view> precision{};      ///< values of --precision
  bool splits_samples = true;                         ///< context ranks beside a pipeline
  bool splits_experts = true;                         ///< expert ranks beside a pipeline
  bool equal_stages = false;                          ///< the same number of decoder layers on every stage
  bool splits_norms = true;                           ///< tensor ranks can also divide norms: sequence parallelism
  bool whole_norms = true;                            ///< they can leave norms whole: plain tensor parallelism
  bool overlaps_gradients = false;                    ///< gradients are always reduced beside the last backward
  bool pads_vocabulary = false;  ///< rows are added to the tables of words, to a multiple of `kVocabularyUnit`
  bool whole_rounds = false;     ///< several stages of a device take their turns with rounds of as many microbatches as
                                 ///< there are devices, and no round may be left incomplete

  bool has(ZeroStage stage) const;
  bool has(ActivationRecompute choice) const;
  bool has_precision(std::string_view value) const;
};

/// Megatron-LM's --make-vocab-size-divisible-by: what the rows of the tables of words are made a multiple of.
inline constexpr std::int64_t kVocabularyUnit = 128;

/// What --runtime may be: "none" and the systems.
std::vector<std::string_view> plan_runtime_names();

/// All systems.
std::span<const PlanRuntime> plan_runtimes();

/// The row called `name`; nullptr for "none" and "". Throws `Error` for unknown names.
const PlanRuntime* plan_runtime(const std::string& name);

/// Whether the system whose rules a simulation follows (`--runtime`) has this ZeRO stage beside a pipeline. Where
/// nothing is known of the system it has all of them.
bool has_zero_beside_pipeline(const std::string& simulated, std::int64_t zero);

/// Returns whether the system has the schedule under a name of its own, or can be given its order.
bool has_schedule(const PlanRuntime& runtime, const ScheduleSpec& spec);

/// That the system whose rules a simulation follows (`--runtime`) has no schedule `name` of the catalogue, and which it
/// has. Empty where it has this one, or an equal one under another name, and where nothing is known of the system.
std::string missing_schedule(const std::string& simulated, std::string_view name);

/// The systems that can run a schedule, "PyTorch, torchtitan": of the catalogue's, those that have it or can be given
/// its order. Empty: none that is known; and of files.
std::string runs_in(const std::string& name);

/// Whether "all schedules" has it: it trains the same model with updates that wait for all microbatches, and a system
/// can run it (the one of `--runtime`, if it is known). Other names of a schedule are left out.
bool is_for_comparison(const ScheduleSpec& spec, const std::string& simulated);

/// Names of the schedules that it runs.
std::vector<std::string> schedules_of(const PlanRuntime& runtime);

/// Names of the schedules that some system runs, without those that none searches.
std::vector<std::string> schedules_of_systems();

/// `PlanJob::runs` of a plan that may be for any system, or for `runtime` alone. A pipeline of one place has no order
/// of its own: it is 1F1B, which accumulates gradients there.
decltype(PlanJob::runs) runs_in_systems(const PlanRuntime* runtime = nullptr);

/// The systems that run a plan of `network`: its schedule, its degrees and its cut. Empty: none that is known.
std::vector<std::string_view> plan_systems(const PipelinePlan& plan, const Network& network);

/// Throws `Error` where `given`, values with commas, has one that is not among those of the system; `option` is
/// "--zero".
void check_allowed(const PlanRuntime& runtime, const char* option, const std::string& given,
                   const std::vector<std::string>& values);

/// Lets `job` be cut, placed and run as the system does.
void cut_as(const PlanRuntime& runtime, const Network& network, PlanJob& job);

}  // namespace plumb
