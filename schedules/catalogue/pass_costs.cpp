#include "schedules/catalogue/pass_costs.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "schedules/catalogue/generator.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kMostPasses = 4'194'304;
constexpr double kNsPerMs = 1e6;

/// What F, I and W add, by the lifetimes of what the stage keeps.
void fill_stash(const StageMemory& memory, StagePasses& passes) {
  std::int64_t made_by_f = memory.input_last_use == LastUse::kForward ? 0 : memory.input_bytes;
  std::int64_t freed_by_i = memory.input_last_use == LastUse::kInputGrad ? memory.input_bytes : 0;
  std::int64_t made_by_i = 0;
  for (const StashTensor& tensor : memory.stash) {
    if (tensor.made_by == StashTensor::MadeBy::kInputGrad) {
      made_by_i += tensor.bytes;
      continue;
    }
    made_by_f += tensor.bytes;
    if (tensor.last_use == LastUse::kInputGrad) freed_by_i += tensor.bytes;
  }
  passes.f.stash = made_by_f;
  passes.i.stash = made_by_i - freed_by_i;
  passes.w.stash = -passes.f.stash - passes.i.stash;
}

/// Bytes of a device besides the stashes of its stages: what lives the whole run, the largest workspace, and messages
/// (two on their way out and one that has arrived, in each direction).
std::int64_t other_bytes(const StageCosts& costs, std::int32_t num_devices) {
  std::int64_t lasting = 0;
  std::int64_t passing = 0;
  for (const StageMemory& stage : costs.memory) {
    lasting = std::max(lasting, stage.weight_bytes + stage.gradient_bytes + stage.optimizer_bytes);
    const std::int64_t workspace = std::max({stage.workspace_f_bytes, stage.workspace_b_bytes, stage.workspace_i_bytes,
                                             stage.workspace_w_bytes, stage.workspace_u_bytes});
    const std::int64_t messages =
        2 * (stage.output_bytes + stage.input_grad_bytes) + stage.input_bytes + stage.output_grad_bytes;
    passing = std::max(passing, workspace + messages);
  }
  return lasting * (static_cast<std::int64_t>(costs.memory.size()) / num_devices) + passing;
}

}  // namespace

PassCosts pass_costs(const ScheduleParams& params, std::int32_t num_stages) {
  PassCosts passes;
  passes.stages.resize(static_cast<std::size_t>(num_stages));
  double per_unit = 1;
  std::int64_t other = 0;
  if (params.costs) {
    const StageCosts costs = params.costs(num_stages);
    passes.comm = costs.comm.value_or(0);
    for (std::size_t s = 0; s < passes.stages.size(); ++s) {
      passes.stages[s].f.time = costs.times[s].f;
      passes.stages[s].i.time = costs.times[s].i;
      passes.stages[s].w.time = costs.times[s].w;
      if (!costs.memory.empty()) fill_stash(costs.memory[s], passes.stages[s]);
    }
    passes.has_stashes = !costs.memory.empty();
    passes.ticks_per_ms = static_cast<double>(costs.base.ticks_per_ns) * kNsPerMs;
    if (costs.memory_units_per_one > 0) per_unit = static_cast<double>(costs.memory_units_per_one);
    other = other_bytes(costs, params.num_devices);
  }
  if (params.memory_limit > 0) {
    constexpr double kRounding = 1e-6;  // limits such as 0.1 units have no exact double
    passes.limit = static_cast<std::int64_t>(std::floor(params.memory_limit * per_unit + kRounding)) - other;
  }
  return passes;
}

bool are_whole(const PassCosts& costs) {
  const auto whole = [&](Ticks ticks) { return std::fmod(static_cast<double>(ticks), costs.ticks_per_ms) == 0; };
  return whole(costs.comm) && std::all_of(costs.stages.begin(), costs.stages.end(), [&](const StagePasses& stage) {
           return whole(stage.f.time) && whole(stage.i.time) && whole(stage.w.time);
         });
}

void assume_paper_stashes(PassCosts& costs) {
  if (costs.has_stashes) return;
  for (StagePasses& stage : costs.stages) {
    stage.f.stash = 2;
    stage.i.stash = -1;
    stage.w.stash = -1;
  }
}

std::optional<PassCosts> with_median_times(const PassCosts& costs) {
  PassCosts same = costs;
  bool differ = false;
  for (PassCost StagePasses::*pass : {&StagePasses::f, &StagePasses::i, &StagePasses::w}) {
    std::vector<Ticks> times;
    for (const StagePasses& stage : costs.stages) times.push_back((stage.*pass).time);
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    for (StagePasses& stage : same.stages) {
      differ = differ || (stage.*pass).time != *middle;
      (stage.*pass).time = *middle;
    }
  }
  if (!differ) return std::nullopt;
  return same;
}

void require_searchable(std::string_view name, const ScheduleParams& params, std::int32_t num_stages) {
  require(params.num_microbatches <= kMostPasses / num_stages, name,
          "stages (" + std::to_string(num_stages) + ") times num_microbatches (" +
              std::to_string(params.num_microbatches) + ") must be at most " + std::to_string(kMostPasses));
}

}  // namespace plumb
