#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "models/ground/error.hpp"
#include "models/stages/whole_layers.hpp"
#include "schedules/catalogue/registry.hpp"
#include "sim/plan_search/schedule_variants.hpp"
#include "tools/options/parse_range.hpp"
#include "tools/options/plan_runtimes.hpp"

namespace plumb {
namespace {

/// What a pipeline of one place is called.
constexpr std::string_view kOnePlace = "1f1b";

/// Those that a search would try and whose order a CSV of PyTorch can hold. Without pairs where stages go round, as
/// Megatron-LM has them: PyTorch runs the halves in turn, so that nothing is gained over the same order without pairs.
std::vector<std::string> schedules_of_csv(const PlanRuntime& runtime) {
  std::vector<std::string> names;
  for (const ScheduleVariant& variant : schedule_variants({.chunks = {2}})) {
    if (variant.overlaps && variant.spec->placement != "v") continue;
    if (missing_schedule(std::string(runtime.name), variant.spec->name).empty()) {
      names.emplace_back(variant.spec->name);
    }
  }
  return names;
}

std::string choices_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
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

/// Whether the system spreads stages over such ranks.
bool spreads(const PlanRuntime& runtime, const Parallelism& ranks) {
  if (is_fitted(ranks) || ranks.has_unlike_tensor()) return false;
  if (!runtime.has(ranks.zero) || !runtime.has(ranks.recompute)) return false;
  if ((ranks.context > 1 && !runtime.splits_samples) || (ranks.expert > 1 && !runtime.splits_experts)) return false;
  const bool whole = ranks.tensor > 1 && !ranks.sequence_parallel;
  if (whole && (!runtime.whole_norms || ranks.expert > 1)) return false;
  if (ranks.sequence_parallel && ranks.tensor > 1 && !runtime.splits_norms) return false;
  return ranks.format == MatrixFormat::kBf16 ||
         runtime.has_precision(kMatrixFormatNames[static_cast<std::size_t>(ranks.format)]);
}

/// Whether the system has the schedule for such a size.
bool takes_size(const PlanRuntime& runtime, std::string_view schedule, std::int32_t places, std::int64_t microbatches) {
  if (places == 1) return schedule == kOnePlace;
  return !runtime.whole_rounds || schedule != "interleaved" || microbatches % places == 0;
}

}  // namespace

std::vector<std::string> schedules_of_systems() {
  std::vector<std::string> names;
  for (const PlanRuntime& runtime : plan_runtimes()) {
    for (std::string& name : schedules_of(runtime)) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    }
  }
  return names;
}

decltype(PlanJob::runs) runs_in_systems(const PlanRuntime* runtime) {
  std::map<std::string, std::vector<const PlanRuntime*>, std::less<>> having;
  for (const PlanRuntime& each : plan_runtimes()) {
    if (runtime != nullptr && runtime != &each) continue;
    for (const std::string& name : schedules_of(each)) having[name].push_back(&each);
  }
  return [having = std::move(having), runtime](std::string_view schedule, const Parallelism& ranks, std::int32_t places,
                                               std::int64_t microbatches) {
    const auto found = having.find(schedule);
    if (found == having.end()) return false;
    return std::ranges::any_of(found->second, [&](const PlanRuntime* system) {
      return takes_size(*system, schedule, places, microbatches) && (runtime != nullptr || spreads(*system, ranks));
    });
  };
}

std::vector<std::string_view> plan_systems(const PipelinePlan& plan, const Network& network) {
  std::vector<std::string_view> titles;
  const std::vector<std::size_t> units = whole_layers(network);
  const bool decoders = !layer_counts(network, Partition{{0, network.layers.size()}}).empty();
  const bool whole = !decoders || !layer_counts(network, plan.partition).empty();
  const bool alike = plan.copies() == 1 && plan.replicas.empty() && plan.choices.recomputed.empty() &&
                     plan.choices.sharded.empty() && plan.choices.offloaded.empty();
  if (!whole || !alike || plan.schedule.empty() || !schedule_named(plan.schedule).synchronous) return titles;
  for (const PlanRuntime& runtime : plan_runtimes()) {
    const bool has = missing_schedule(std::string(runtime.name), plan.schedule).empty() &&
                     takes_size(runtime, plan.schedule, plan.length(), plan.microbatches) &&
                     spreads(runtime, plan.parallelism);
    const auto equal = decoders ? equal_stages(units, plan.partition.num_stages()) : std::nullopt;
    if (has && (!runtime.equal_stages || (equal && *equal == plan.partition))) titles.push_back(runtime.title);
  }
  return titles;
}

std::vector<std::string> schedules_of(const PlanRuntime& runtime) {
  if (runtime.schedules.empty()) return schedules_of_csv(runtime);
  return {runtime.schedules.begin(), runtime.schedules.end()};
}

void check_allowed(const PlanRuntime& runtime, const char* option, const std::string& given,
                   const std::vector<std::string>& values) {
  for (const std::string& value : split(given, ',')) {
    if (std::ranges::find(values, value) != values.end()) continue;
    throw Error("plan: " + std::string(option) + " " + value + ": " + std::string(runtime.title) +
                " does not have it beside a pipeline, expected " + choices_text(values));
  }
}

void cut_as(const PlanRuntime& runtime, const Network& network, PlanJob& job) {
  if (layer_counts(network, Partition{{0, network.layers.size()}}).empty()) {
    throw Error("plan: --runtime " + std::string(runtime.name) + ": network '" + network.name +
                "' has no decoder layers, expected a transformer or --runtime none");
  }
  job.units = whole_layers(network);
  job.in_order = true;
  if (runtime.equal_stages) {
    job.only_cut = [units = job.units](std::size_t stages) { return equal_stages(units, stages); };
  }
}

}  // namespace plumb
