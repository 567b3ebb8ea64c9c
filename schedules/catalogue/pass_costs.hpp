#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "models/ground/units.hpp"
#include "schedules/catalogue/schedule_params.hpp"

namespace plumb {

/// One pass of a stage: how long it takes and what it adds to the stash of its device.
struct PassCost {
  Ticks time = 0;
  std::int64_t stash = 0;
};

/// The passes of one stage; their stashes add up to 0.
struct StagePasses {
  PassCost f{1, 1};
  PassCost i{1, 0};
  PassCost w{1, -1};

  Ticks time() const { return f.time + i.time + w.time; }
};

/// The costs that searches use: dense, integer, by stage.
struct PassCosts {
  std::vector<StagePasses> stages;
  Ticks comm = 0;                                                 ///< of every edge between devices
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();  ///< of the stashes of a device
  bool has_stashes = false;  ///< whether they are known; otherwise a stash is 1 from its F to its W
  double ticks_per_ms = 1;   ///< 1 unit of abstract costs is 1 ms
};

/// The costs in `params` for `num_stages` stages; if there are none, every pass takes 1 and a stash is 1 from its
/// F to its W. If costs come from a network, the limit is that of the device minus weights, gradients, optimizer,
/// workspace and messages.
PassCosts pass_costs(const ScheduleParams& params, std::int32_t num_stages);

/// Whether all times are whole milliseconds, which floating-point numbers add without rounding.
bool are_whole(const PassCosts& costs);

/// Where no stashes are known: the paper's, of which I and W free one half each (F 2, I -1, W -1; Qi et al., Zero
/// Bubble Pipeline Parallelism, arXiv 2401.10241, section 2.1, where W needs little more than half of what F keeps).
void assume_paper_stashes(PassCosts& costs);

/// `costs` with the median times of all stages at every stage; empty when they are the same anyway.
std::optional<PassCosts> with_median_times(const PassCosts& costs);

/// Throws `Error("<name>: <rule>")` when a search over that many passes would take too long.
void require_searchable(std::string_view name, const ScheduleParams& params, std::int32_t num_stages);

/// The rule of `require_searchable`, for the catalogue.
inline constexpr std::string_view kSearchable = "stages x m at most 4194304";

}  // namespace plumb
