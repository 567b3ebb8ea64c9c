#include "sim/order_search/catalogue_candidates.hpp"

#include <algorithm>
#include <map>

#include "models/ground/error.hpp"
#include "schedules/catalogue/registry.hpp"

namespace plumb {
namespace {

bool is_candidate(const ScheduleSpec& spec) {
  return spec.searched && spec.synchronous && !spec.inference && spec.alias_of.empty() &&
         spec.placement != "replicated" && spec.placement != "data-parallel" && spec.placement != "copies" &&
         spec.placement != "divided";
}

/// Whether stashes are moved to other memories.
bool has_moves(const Schedule& schedule) {
  return std::ranges::any_of(schedule.devices, [](const DeviceList& list) {
    return std::ranges::any_of(list.actions, [](const Action& action) { return is_move(action.op); });
  });
}

bool is_plain(const Schedule& schedule) {
  return !has_moves(schedule) && !schedule.policy && !schedule.slices && schedule.microbatch_sizes.empty() &&
         schedule.extras.empty() && !schedule.vocabulary;
}

}  // namespace

std::vector<CatalogueCandidate> catalogue_candidates(const ScheduleParams& params, std::int64_t most_kept) {
  std::vector<CatalogueCandidate> candidates;
  double stages_per_device = 1;
  const auto add = [&](const ScheduleSpec& spec, const std::map<std::string, std::string>& options) {
    ScheduleParams asked = params;
    asked.options = options;
    asked.memory_limit *= stages_per_device;
    try {
      CatalogueCandidate made{.name = std::string(spec.name), .schedule = generate(spec.name, asked)};
      for (const auto& [key, value] : options) made.name += " " + key + "=" + value;
      const bool known = std::ranges::any_of(candidates, [&](const CatalogueCandidate& one) {
        return one.name == made.name && one.schedule.devices == made.schedule.devices;
      });
      if (is_plain(made.schedule) && !known) candidates.push_back(std::move(made));
    } catch (const Error&) {  // not of this size, or not within this memory
    }
  };
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    if (!is_candidate(spec)) continue;
    add(spec, {});
    if (most_kept > 0 && spec.has_option("limit")) add(spec, {{"limit", std::to_string(most_kept)}});
    // Searched schedules count stashes of a stage; where the limit is one of other units, the first one fits.
    const bool counts = spec.placement == "v" && params.memory_limit > 0;
    for (stages_per_device = 1; stages_per_device <= (counts ? 2 : 1); ++stages_per_device) {
      if (spec.name == "zb-v") add(spec, {{"order", "search"}});
      if (stages_per_device > 1) add(spec, {});
    }
    stages_per_device = 1;
  }
  return candidates;
}

}  // namespace plumb
