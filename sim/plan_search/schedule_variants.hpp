#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/ground/units.hpp"
#include "schedules/catalogue/registry.hpp"
#include "sim/plan_search/plan_job.hpp"

namespace plumb {

/// A schedule of the catalogue with a number of stages per place.
struct ScheduleVariant {
  const ScheduleSpec* spec = nullptr;
  std::int32_t chunks = 0;     ///< 0: its own number
  std::int32_t per_place = 1;  ///< stages of a place
  bool for_costs = false;      ///< its order depends on the costs of the stages
  bool asynchronous = false;   ///< never flushes: bounded by what steady_bounds.hpp proves
  bool sliced = false;         ///< may begin a part of a microbatch before the whole of it
  bool overlaps = false;       ///< has overlapped pairs, which hide communication within passes
  bool even_only = false;      ///< whether it only has the chunks of `PlanRanges::even_chunks`
  bool fuses = true;           ///< may have backwards in one (B)
  bool splits = true;          ///< may have them in halves (I and W)
  bool moves = true;           ///< may move what a microbatch keeps to other places or to the host

  bool more_than_one = false;  ///< on one place another variant, of one stage there, does what it does

  bool hides_backwards = true;  ///< may have pairs of two backwards, or of their halves
  /// Returns the group of schedules that are bounded together, since they may do the same with passes; below `kGroups`.
  std::int32_t group() const;

  std::int32_t stages(std::int32_t places) const { return places * per_place; }
  /// Returns whether a search tries it on so many places for a network of so many layers (units).
  bool is_tried(std::int32_t places, std::size_t layers) const;
};

/// Variants that a search may use: the schedules that `ranges` name; if they name none, all for training that are not
/// an alias of another one, with `asynchronous` also those that never flush. Throws `Error` for unknown names, for
/// schedules that never flush and hold stages several times, which no bound covers, and for those that divide the
/// vocabulary.
std::vector<ScheduleVariant> schedule_variants(const PlanRanges& ranges);

/// Returns the variant that speaks for all schedules with one stage on one place, which do the same work: the one that
/// keeps the fewest microbatches. Returns the number of variants where there is none.
std::size_t one_place_variant(const std::vector<ScheduleVariant>& variants);

/// Placement of stages on places in `order`, by the catalogue's name of the placement; empty when the name does not
/// determine it.
std::vector<std::vector<std::vector<DeviceId>>> placement_of(const ScheduleVariant& variant,
                                                             const std::vector<std::int32_t>& order);

}  // namespace plumb
