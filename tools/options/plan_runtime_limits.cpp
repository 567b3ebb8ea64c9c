#include <algorithm>
#include <optional>

#include "models/ground/error.hpp"
#include "models/stages/whole_layers.hpp"
#include "sim/plan_search/schedule_variants.hpp"
#include "tools/options/parse_range.hpp"
#include "tools/options/plan_runtimes.hpp"

namespace plumb {
namespace {

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

}  // namespace

std::vector<std::string> schedules_of(const PlanRuntime& runtime) {
  return runtime.schedules.empty() ? schedules_of_csv(runtime) : split(std::string(runtime.schedules), ',');
}

std::string allowed(const PlanRuntime& runtime, const char* option, const std::string& given,
                    const std::vector<std::string>& searched, const std::vector<std::string>& besides) {
  if (given.empty()) return choices_text(searched);
  for (const std::string& name : split(given, ',')) {
    if (std::ranges::find(searched, name) != searched.end() || std::ranges::find(besides, name) != besides.end())
      continue;
    std::vector<std::string> all = searched;
    all.insert(all.end(), besides.begin(), besides.end());
    throw Error("plan: " + std::string(option) + " " + name + ": " + std::string(runtime.title) +
                " does not have it beside a pipeline, expected " + choices_text(all));
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
