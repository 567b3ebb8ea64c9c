#include "schedules/rules/dependency_rules.hpp"

#include <algorithm>
#include <utility>

namespace plumb {
namespace {

std::vector<std::pair<StageId, StageId>> edges_of(const Schedule& schedule) {
  if (schedule.stage_edges) return *schedule.stage_edges;
  std::vector<std::pair<StageId, StageId>> chain;
  for (std::int32_t stage = 0; stage + 1 < schedule.num_stages; ++stage) {
    chain.emplace_back(StageId{stage}, StageId{stage + 1});
  }
  return chain;
}

}  // namespace

DependencyRules::DependencyRules(const Schedule& schedule) : segments_(segment_places(schedule)) {
  auto edges = edges_of(schedule);
  const auto rows = [&](Sources& sources) {
    std::sort(edges.begin(), edges.end());
    sources.begin.assign(static_cast<std::size_t>(schedule.num_stages) + 1, 0);
    for (const auto& [stage, source] : edges) {
      ++sources.begin[index(stage) + 1];
      sources.stages.push_back(source);
    }
    for (std::size_t stage = 1; stage < sources.begin.size(); ++stage) sources.begin[stage] += sources.begin[stage - 1];
  };
  rows(next_);
  for (auto& [from, to] : edges) std::swap(from, to);
  rows(previous_);
  if (!schedule.slices) return;
  causal_slices_ = schedule.slices->axis == Slices::Axis::kSequence;
  for (const auto& lengths : schedule.slices->lengths) {
    num_slices_ = std::max(num_slices_, static_cast<std::int16_t>(lengths.size()));
  }
}

}  // namespace plumb
