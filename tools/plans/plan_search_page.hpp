#pragma once

#include <string>

#include "sim/plan_search/pipeline_plan.hpp"
#include "sim/timeline/timeline.hpp"
#include "tools/options/plan_search_arguments.hpp"

namespace plumb {

/// The best plans of `answer` on one page: their figures side by side, every timeline, each compared with the best one,
/// and why it is slower.
std::string plan_page(const PlanQuestion& question, const PlanAnswer& answer);

/// Where the time of `other` goes that `best` does not need, per device on average: computing, recomputing, each cause
/// of waiting; largest first.
std::string why_slower(const Timeline& best, const Timeline& other);

}  // namespace plumb
