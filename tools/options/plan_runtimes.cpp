#include "tools/options/plan_runtimes.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

#include "models/ground/error.hpp"
#include "models/ground/plain_name.hpp"
#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/document/schedule_io.hpp"
#include "sim/runtimes/runtime_presets.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/schedule_arguments.hpp"

namespace plumb {
namespace {

constexpr std::array<std::string_view, 2> kMegatronSchedules{"1f1b", "interleaved"};
constexpr std::array<std::string_view, 1> kMegatronSchedulesToo{"interleaved-overlap"};
constexpr std::array<std::string_view, 1> kDeepSpeedSchedules{"1f1b"};
constexpr std::array kShardedOptimizer{ZeroStage::kNone, ZeroStage::kOptimizer};
constexpr std::array kShardedGradients{ZeroStage::kNone, ZeroStage::kGradients};
constexpr std::array kShardedWeights{ZeroStage::kWeights};
constexpr std::array kWholeLayers{ActivationRecompute::kNone, ActivationRecompute::kFull};
constexpr std::array kPartsOfLayers{ActivationRecompute::kNone, ActivationRecompute::kSelective,
                                    ActivationRecompute::kFull};
constexpr std::array<std::string_view, 4> kPytorchPrecision{"mixed", "single", "fp8-current", "mxfp8"};
constexpr std::array<std::string_view, 3> kTorchtitanPrecision{"mixed", "fp8-current", "mxfp8"};
constexpr std::array<std::string_view, 2> kDeepSpeedPrecision{"mixed", "single"};

/// Megatron-LM: `forward_backward_pipelining_*` of megatron/core (the one with interleaving refuses a last group of
/// fewer microbatches than devices; only this one overlaps the all-to-alls of experts), `--use-distributed-optimizer`,
/// transformer_config.py.
/// torchtitan and PyTorch: FSDP keeps gathered weights during a step of a pipeline (ZeRO-2) unless
/// `fsdp_reshard_after_forward` says otherwise; `replicate` is no ZeRO. DeepSpeed: `TrainSchedule`;
/// runtime/pipe/engine.py refuses ZeRO-2 and -3; `type:` partitions deal out layers as evenly as can be. Products in 8
/// bits: Transformer Engine's recipes in Megatron-LM; torchao's float8 (current scaling) and MX formats in torchtitan
/// and with modules of one's own; DeepSpeed's configuration has none.
constexpr std::array kRuntimes{
    PlanRuntime{.name = "megatron",
                .title = "Megatron-LM",
                .schedules = kMegatronSchedules,
                .schedules_too = kMegatronSchedulesToo,
                .zero = kShardedOptimizer,
                .recompute = kPartsOfLayers,
                .precision = kPrecisionNames,
                .pads_vocabulary = true,
                .whole_rounds = true},
    PlanRuntime{.name = "pytorch",
                .title = "PyTorch",
                .zero = kShardedGradients,
                .zero_too = kShardedWeights,
                .recompute = kWholeLayers,
                .precision = kPytorchPrecision},
    PlanRuntime{.name = "torchtitan",
                .title = "torchtitan",
                .zero = kShardedGradients,
                .zero_too = kShardedWeights,
                .recompute = kWholeLayers,
                .precision = kTorchtitanPrecision,
                .whole_norms = false,
                .overlaps_gradients = true},
    PlanRuntime{.name = "deepspeed",
                .title = "DeepSpeed",
                .schedules = kDeepSpeedSchedules,
                .zero = kShardedOptimizer,
                .recompute = kWholeLayers,
                .precision = kDeepSpeedPrecision,
                .splits_samples = false,
                .splits_experts = false,
                .equal_stages = true,
                .splits_norms = false},
};

}  // namespace

std::span<const PlanRuntime> plan_runtimes() { return kRuntimes; }

namespace {

/// Whether a CSV of PyTorch can hold the order of a schedule.
bool csv_holds(const ScheduleSpec& spec) {
  ScheduleParams params{.num_devices = 4, .num_microbatches = 12};  // every schedule accepts this size
  params.costs = [](std::int32_t stages) { return abstract_costs("F=1,I=1,W=1", "", {.num_stages = stages}); };
  try {
    const Schedule schedule = generate(spec.name, params);
    if (!schedule.recompute.empty()) return false;
    schedule_to_torch_csv(schedule);
    return true;
  } catch (const Error&) {  // PyTorch cannot be told
    return false;
  }
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// The system whose rules a simulation follows; nullptr where nothing is known of it.
const PlanRuntime* simulated_system(const std::string& simulated) {
  const std::string plain(runtime_called(plain_name(simulated)));
  const auto found = std::ranges::find_if(  // "megatron-batched" is one of Megatron-LM's
      kRuntimes, [&](const PlanRuntime& runtime) { return plain.starts_with(plain_name(runtime.name)); });
  return found == kRuntimes.end() ? nullptr : &*found;
}

}  // namespace

std::vector<std::string_view> plan_runtime_names() {
  std::vector<std::string_view> names{"none"};
  for (const PlanRuntime& runtime : kRuntimes) names.push_back(runtime.name);
  return names;
}

const PlanRuntime* plan_runtime(const std::string& name) {
  const std::string plain(runtime_called(plain_name(name)));
  if (plain.empty() || plain == "none") return nullptr;
  const auto found = std::ranges::find_if(kRuntimes, [&](const PlanRuntime& runtime) {
    return plain_name(runtime.name) == plain || plain_name(runtime.title) == plain;
  });
  if (found != kRuntimes.end()) return &*found;
  throw_unknown("runtime", dashed_name(name), plan_runtime_names());
}

bool PlanRuntime::has(ZeroStage stage) const {
  return std::ranges::find(zero, stage) != zero.end() || std::ranges::find(zero_too, stage) != zero_too.end();
}

bool PlanRuntime::has(ActivationRecompute choice) const {
  return std::ranges::find(recompute, choice) != recompute.end();
}

bool PlanRuntime::has_precision(std::string_view value) const {
  return std::ranges::find(precision, value) != precision.end();
}

bool has_zero_beside_pipeline(const std::string& simulated, std::int64_t zero) {
  const PlanRuntime* runtime = simulated_system(simulated);
  return runtime == nullptr || runtime->has(static_cast<ZeroStage>(zero));
}

namespace {

/// The schedules of the catalogue that a system has under a name of its own; empty: what PyTorch's CSV can say.
std::vector<std::string> named_schedules(const PlanRuntime& runtime) {
  if (runtime.schedules.empty()) return {};
  std::vector<std::string> known(runtime.schedules.begin(), runtime.schedules.end());
  known.insert(known.end(), runtime.schedules_too.begin(), runtime.schedules_too.end());
  return known;
}

}  // namespace

bool has_schedule(const PlanRuntime& runtime, const ScheduleSpec& spec) {
  const std::vector<std::string> known = named_schedules(runtime);
  if (known.empty()) return csv_holds(spec);
  return std::ranges::any_of(known, [&](const std::string& one) {
    return one == spec.name || one == spec.alias_of;  // torch-1f1b is 1f1b
  });
}

namespace {

std::string systems_with(const ScheduleSpec& spec) {
  const bool in_csv = csv_holds(spec);
  std::vector<std::string> titles;
  for (const PlanRuntime& runtime : kRuntimes) {
    if (runtime.schedules.empty() ? in_csv : has_schedule(runtime, spec)) titles.emplace_back(runtime.title);
  }
  return joined(titles);
}

}  // namespace

std::string missing_schedule(const std::string& simulated, std::string_view name) {
  const PlanRuntime* runtime = simulated_system(simulated);
  if (runtime == nullptr) return "";
  const ScheduleSpec& spec = schedule_named(name);
  if (has_schedule(*runtime, spec)) return "";
  const std::string title(runtime->title);
  if (runtime->schedules.empty()) {
    return title + " has no schedule " + std::string(spec.name) + ", and no CSV of PyTorch can hold its order";
  }
  return title + " has no schedule " + std::string(spec.name) + ", it has " + joined(named_schedules(*runtime));
}

std::string runs_in(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  if (is_schedule_file(name)) return "";
  const std::lock_guard lock(mutex);
  const auto found = known.find(name);
  if (found != known.end()) return found->second;
  return known.emplace(name, systems_with(schedule_named(name))).first->second;
}

bool is_for_comparison(const ScheduleSpec& spec, const std::string& simulated) {
  if (!spec.synchronous || spec.inference || !spec.alias_of.empty()) return false;
  const std::string name(spec.name);
  return simulated_system(simulated) != nullptr ? missing_schedule(simulated, name).empty() : !runs_in(name).empty();
}

}  // namespace plumb
