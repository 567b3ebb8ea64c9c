#pragma once

#include <cstdint>
#include <vector>

#include "sim/plan_search/bounds/copy_bounds.hpp"
#include "sim/plan_search/pipeline_plan.hpp"
#include "sim/plan_search/plan_job.hpp"
#include "sim/plan_search/schedule_variants.hpp"

namespace plumb {

/// Counts the ways in which so many copies share the microbatches, each at least one; at most `most` + 1.
std::int64_t count_shares(std::int64_t microbatches, std::int32_t copies, std::int64_t most);

/// Returns all of them, in lexicographic order.
std::vector<std::vector<std::int64_t>> all_shares(std::int64_t microbatches, std::int32_t copies);

/// Returns a share for each of so many copies that is not chosen yet: 0.
std::vector<std::int64_t> open_shares(std::int32_t copies);

/// Brings copies that stand one behind another in `order` into a fixed order: as long as their shares are open, they
/// could be exchanged.
void sort_copies(std::vector<std::int32_t>& order, std::int32_t copies);

/// Returns where so many copies of a pipeline stand, one behind another in `order`; empty where the name of the
/// schedule's placement does not determine it, or has several places for a stage.
CopiesPlacement placement_of_copies(const ScheduleVariant& variant, const std::vector<std::int32_t>& order,
                                    std::int32_t copies);

/// Shares of `plan`, in which those of every copy are open but their number is known, with which the copy that takes
/// longest takes as short as it can: each is simulated alone with its microbatches, and one that does not fit into its
/// places takes for ever. Begins with `least_bounded_shares` and moves microbatches away from the slowest copy as long
/// as another one is faster with them. Where no copy is faster with more microbatches, that is exact: any other shares
/// with a shorter step would give another copy more. (Whale, Jia et al., ATC 2022, moves load by FLOP/s and memory;
/// here times and memory are simulated.)
///
/// Shares are multiples of the number of microbatches that the schedule wants multiples of. Throws `Error` where there
/// are none.
std::vector<std::int64_t> chosen_shares(const PipelinePlan& plan, const PricedStages& stages, bool named);

}  // namespace plumb
