#include "schedules/catalogue/pipeline_copies.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/replicas_option.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kMostPipelines = std::numeric_limits<std::int16_t>::max();

/// Where the copy stands among all of them.
struct CopyOffset {
  std::int32_t device = 0;
  std::int32_t microbatch = 0;
  std::int16_t replica = 0;
};

std::vector<std::int64_t> shares_of(std::string_view name, const ScheduleParams& params) {
  const std::string& text = params.options.at(std::string(kCopyShares));
  std::vector<std::int64_t> shares = dashed_numbers(text, params.num_microbatches);
  const std::int64_t together = std::accumulate(shares.begin(), shares.end(), std::int64_t{0});
  require(!shares.empty() && together == params.num_microbatches, name,
          "option shares: expected the microbatches of each copy of the pipeline, as 5-3, " +
              std::to_string(params.num_microbatches) + " together, found '" + text + "'");
  require(params.num_devices % std::ssize(shares) == 0, name,
          "num_devices (" + std::to_string(params.num_devices) + ") must be a multiple of the " +
              std::to_string(shares.size()) + " copies of option shares");
  require(params.updates <= 1, name, "option shares: expected one update");
  return shares;
}

/// What says more of microbatches or devices than the lists do, and so cannot be put beside another copy.
void check_copies(std::string_view name, const Schedule& copy) {
  const auto has_several = [](const auto& stages) {
    return std::ranges::any_of(stages, [](const auto& holders) { return holders.size() > 1; });
  };
  const bool plain = !copy.policy && !copy.slices && !copy.vocabulary && copy.extras.empty() &&
                     copy.extra_edges.empty() && copy.microbatch_sizes.empty() && copy.recompute.empty() &&
                     copy.reduce_groups.empty() && std::ranges::none_of(copy.placement, has_several);
  require(plain, name,
          "option shares: not for a schedule that decides at run time, has stages on several devices, slices, "
          "recomputation or work of its own");
}

DeviceList moved(DeviceList list, const CopyOffset& by) {
  for (Action& action : list.actions) {
    action.replica = ReplicaId{static_cast<std::int16_t>(index(action.replica) + static_cast<std::size_t>(by.replica))};
    const std::int32_t number = static_cast<std::int32_t>(action.microbatch);
    const bool is_update = action.op == Op::kU || action.op == Op::kV;
    if (number >= 0 && !is_update) action.microbatch = MicrobatchId{number + by.microbatch};
    if (action.where >= 0) action.where = static_cast<std::int16_t>(action.where + by.device);
  }
  return list;
}

void append(Schedule copy, const CopyOffset& by, Schedule& all) {
  for (auto& stages : copy.placement) {
    for (auto& holders : stages) {
      for (DeviceId& device : holders) device = DeviceId{static_cast<std::int32_t>(index(device)) + by.device};
    }
    all.placement.push_back(std::move(stages));
  }
  for (DeviceList& list : copy.devices) all.devices.push_back(moved(std::move(list), by));
}

}  // namespace

Schedule pipeline_copies(std::string_view name, const ScheduleParams& params,
                         const std::function<Schedule(const ScheduleParams&)>& one) {
  const std::vector<std::int64_t> shares = shares_of(name, params);
  ScheduleParams each = params;
  each.options.erase(std::string(kCopyShares));
  each.num_devices = params.num_devices / static_cast<std::int32_t>(shares.size());
  if (shares.size() == 1) return one(each);
  Schedule all;
  CopyOffset offset;
  for (const std::int64_t share : shares) {
    each.num_microbatches = share;
    Schedule copy = one(each);
    check_copies(name, copy);
    if (all.placement.empty()) {
      all = copy;
      all.placement.clear();
      all.devices.clear();
    }
    require(copy.num_stages == all.num_stages, name, "option shares: its stages depend on the microbatches");
    const std::size_t replicas = all.placement.size() + copy.placement.size();
    require(static_cast<std::int64_t>(replicas) <= kMostPipelines, name, "option shares: too many copies");
    const auto own = static_cast<std::int16_t>(copy.placement.size());
    append(std::move(copy), offset, all);
    offset.device += each.num_devices;
    offset.microbatch += static_cast<std::int32_t>(share);
    offset.replica = static_cast<std::int16_t>(offset.replica + own);
  }
  all.parameters["p"] = std::int64_t{params.num_devices};
  all.parameters["m"] = params.num_microbatches;
  all.parameters[std::string(kCopyShares)] = params.options.at(std::string(kCopyShares));
  all.num_devices = params.num_devices;
  all.num_microbatches = params.num_microbatches;
  all.microbatches_per_update = {params.num_microbatches};
  return all;
}

}  // namespace plumb
