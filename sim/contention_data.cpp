#include "sim/contention_data.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace plumb {
namespace {

/// Less company than this is none.
constexpr double kAlmostAlone = 0.01;

bool is_alone(const MetAction& action, const std::vector<Stretch>& stretches) {
  double with_others = 0;
  for (std::size_t s = action.first; s != action.behind; ++s) with_others += stretches[s].alone() ? 0 : stretches[s].ns;
  return with_others <= kAlmostAlone * action.ns;
}

}  // namespace

ContentionData::ContentionData(std::span<const Timeline> timelines, std::int64_t first_update) {
  std::map<std::tuple<DeviceId, StageId, Load>, std::size_t> numbers;
  block_begin.push_back(0);
  for (const Timeline& timeline : timelines) {
    const Company company = company_of(timeline);
    const std::size_t blocks = block_begin.back();
    std::size_t behind = blocks;
    for (MetAction action : company.actions) {
      if (action.update < first_update) continue;
      const auto [at, is_new] = numbers.try_emplace({action.device, action.stage, action.kind}, groups.size());
      if (is_new) groups.push_back({{.device = action.device, .stage = action.stage, .kind = action.kind}, {}, {}});
      const std::size_t block = blocks + static_cast<std::size_t>(action.update - first_update);
      behind = std::max(behind, block + 1);
      if (is_alone(action, company.stretches)) {
        groups[at->second].ns.push_back(action.ns);
        groups[at->second].blocks.push_back(block);
      }
      const std::size_t first = stretches.size();
      stretches.insert(stretches.end(), company.stretches.begin() + static_cast<std::ptrdiff_t>(action.first),
                       company.stretches.begin() + static_cast<std::ptrdiff_t>(action.behind));
      action.first = first;
      action.behind = stretches.size();
      actions.push_back({action, at->second, block});
    }
    block_begin.push_back(behind);
  }
  for (AloneGroup& group : groups) {
    group.time.median_ns = median_of(group.ns);
    group.time.count = static_cast<std::int64_t>(group.ns.size());
  }
}

std::vector<double> ContentionData::exposure(const ContentionCurves& curves, const SeenAction& action) const {
  std::vector<double> exposure(curves.size(), 0);
  std::vector<ContentionCurves::PartOf> parts;
  const double alone = groups[action.group].time.median_ns;
  for (std::size_t s = action.met.first; s != action.met.behind; ++s) {
    curves.parts(static_cast<std::size_t>(action.met.kind), stretches[s], parts);
    for (const auto& part : parts) exposure[part.unknown] += part.weight * stretches[s].ns / alone;
  }
  return exposure;
}

double ContentionData::share_unknown(const ContentionCurves& curves, const SeenAction& action,
                                     const std::vector<bool>& absorbed) const {
  const auto of = static_cast<std::size_t>(action.met.kind);
  double ns = 0;
  for (std::size_t s = action.met.first; s != action.met.behind; ++s) {
    for (std::size_t by = 0; by < kComputeLoads; ++by) {
      if (stretches[s].others[by] == 0 || curves.knows(of, by) || absorbed[of * kComputeLoads + by]) continue;
      ns += stretches[s].ns;
      break;
    }
  }
  return ns / action.met.ns;
}

}  // namespace plumb
