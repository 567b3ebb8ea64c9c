#include "tools/options/plan_runtimes.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "models/ground/error.hpp"
#include "models/ground/plain_name.hpp"
#include "models/sources/abstract_costs.hpp"
#include "models/stages/whole_layers.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/document/schedule_io.hpp"
#include "sim/plan_search/schedule_variants.hpp"
#include "sim/runtimes/runtime_presets.hpp"
#include "tools/options/parse_range.hpp"

namespace plumb {
namespace {

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
                .schedules = "1f1b,interleaved",
                .zero = "0,1",
                .zero_too = "",
                .recompute = "none,selective,full",
                .precision = "mixed,single,fp8,fp8-current,fp8-block,mxfp8,nvfp4",
                .pads_vocabulary = true,
                .whole_rounds = true,
                .schedules_too = "interleaved-overlap"},
    PlanRuntime{.name = "pytorch",
                .title = "PyTorch",
                .schedules = "",
                .zero = "0,2",
                .zero_too = "3",
                .recompute = "none,full",
                .precision = "mixed,single,fp8-current,mxfp8"},
    PlanRuntime{.name = "torchtitan",
                .title = "torchtitan",
                .schedules = "",
                .zero = "0,2",
                .zero_too = "3",
                .recompute = "none,full",
                .precision = "mixed,fp8-current,mxfp8",
                .whole_norms = false,
                .overlaps_gradients = true},
    PlanRuntime{.name = "deepspeed",
                .title = "DeepSpeed",
                .schedules = "1f1b",
                .zero = "0,1",
                .zero_too = "",
                .recompute = "none,full",
                .precision = "mixed,single",
                .splits_samples = false,
                .splits_experts = false,
                .equal_stages = true,
                .splits_norms = false},
};

/// Whether a CSV of PyTorch can hold the order of a schedule.
bool csv_holds(const ScheduleSpec& spec) {
  ScheduleParams params{.num_devices = 4, .num_microbatches = 12};  // every schedule accepts this size
  params.costs = [](std::int32_t stages) { return abstract_costs("F=1,I=1,W=1", "", {.num_stages = stages}); };
  try {
    const Schedule schedule = spec.make(params);
    if (!schedule.recompute.empty()) return false;
    schedule_to_torch_csv(schedule);
    return true;
  } catch (const Error&) {  // PyTorch cannot be told
    return false;
  }
}

/// Those that a search would try and whose order a CSV of PyTorch can hold. Without pairs where stages go round, as
/// Megatron-LM has them: PyTorch runs the halves in turn, so that nothing is gained over the same order without pairs.
std::vector<std::string> schedules_of_csv() {
  std::vector<std::string> names;
  for (const ScheduleVariant& variant : schedule_variants({.chunks = {2}})) {
    if (variant.overlaps && variant.spec->placement != "v") continue;
    if (csv_holds(*variant.spec)) names.emplace_back(variant.spec->name);
  }
  return names;
}

std::string joined(const std::vector<std::string>& names, const char* between = ",") {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : between) + name;
  return text;
}

/// The system whose rules a simulation follows; nullptr where nothing is known of it.
const PlanRuntime* simulated_system(const std::string& simulated) {
  const std::string plain(runtime_called(plain_name(simulated)));
  const auto found = std::ranges::find_if(  // "megatron-batched" is one of Megatron-LM's
      kRuntimes, [&](const PlanRuntime& runtime) { return plain.starts_with(plain_name(runtime.name)); });
  return found == kRuntimes.end() ? nullptr : &*found;
}

/// Equal numbers of decoder layers; embedding on the first stage, what follows the last layer on the last one.
std::optional<Partition> equal_stages(const std::vector<std::size_t>& units, std::size_t stages) {
  constexpr std::size_t kEnds = 2;
  const std::size_t decoders = units.size() - 1 - kEnds;
  if (stages == 0 || decoders % stages != 0 || decoders < stages) return std::nullopt;
  Partition cut{{0}};
  for (std::size_t s = 1; s < stages; ++s) cut.bounds.push_back(units[1 + s * (decoders / stages)]);
  cut.bounds.push_back(units.back());
  return cut;
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

bool has_zero_beside_pipeline(const std::string& simulated, std::int64_t zero) {
  const PlanRuntime* runtime = simulated_system(simulated);
  if (runtime == nullptr) return true;
  const std::string digit = std::to_string(zero);
  return runtime->zero.find(digit) != std::string_view::npos || runtime->zero_too.find(digit) != std::string_view::npos;
}

std::string missing_schedule(const std::string& simulated, std::string_view name) {
  const PlanRuntime* runtime = simulated_system(simulated);
  if (runtime == nullptr) return "";
  const ScheduleSpec& spec = schedule_named(name);
  const std::string title(runtime->title);
  if (runtime->schedules.empty()) {
    if (csv_holds(spec)) return "";
    return title + " has no schedule " + std::string(spec.name) + ", and no CSV of PyTorch can hold its order";
  }
  std::vector<std::string> known = split(std::string(runtime->schedules), ',');
  if (!runtime->schedules_too.empty()) {
    const std::vector<std::string> more = split(std::string(runtime->schedules_too), ',');
    known.insert(known.end(), more.begin(), more.end());
  }
  const bool has = std::ranges::any_of(known, [&](const std::string& one) {
    return one == spec.name || one == spec.alias_of;  // torch-1f1b is 1f1b
  });
  return has ? "" : title + " has no schedule " + std::string(spec.name) + ", it has " + joined(known, ", ");
}

std::vector<std::string> schedules_of(const PlanRuntime& runtime) {
  return runtime.schedules.empty() ? schedules_of_csv() : split(std::string(runtime.schedules), ',');
}

std::string allowed(const PlanRuntime& runtime, const char* option, const std::string& given,
                    const std::vector<std::string>& searched, const std::vector<std::string>& besides) {
  if (given.empty()) return joined(searched);
  for (const std::string& name : split(given, ',')) {
    if (std::ranges::find(searched, name) != searched.end() || std::ranges::find(besides, name) != besides.end())
      continue;
    std::vector<std::string> all = searched;
    all.insert(all.end(), besides.begin(), besides.end());
    throw Error("plan: " + std::string(option) + " " + name + ": " + std::string(runtime.title) +
                " does not have it beside a pipeline, expected " + joined(all));
  }
  return given;
}

void cut_as(const PlanRuntime& runtime, const Network& network, PlanJob& job) {
  if (layer_counts(network, Partition{{0, network.layers.size()}}).empty()) {
    throw Error("plan: --runtime " + std::string(runtime.name) + ": network '" + network.name +
                "' has no decoder layers, expected a transformer or --runtime none");
  }
  job.units = whole_layers(network);
  job.in_order = true;
  if (runtime.whole_rounds) {
    job.runs = [](std::string_view schedule, std::int32_t places, std::int64_t microbatches) {
      return schedule != "interleaved" || (places > 1 && microbatches % places == 0);
    };
  }
  if (runtime.equal_stages) {
    job.only_cut = [units = job.units](std::size_t stages) { return equal_stages(units, stages); };
  }
}

}  // namespace plumb
