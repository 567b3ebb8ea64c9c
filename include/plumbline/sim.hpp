#pragma once

// What would happen: timelines, comparisons, plans. Library: plumb::sim.

#include "sim/comparison/compare.hpp"
#include "sim/comparison/ranking.hpp"
#include "sim/plan_search/plan_search.hpp"
#include "sim/planners/planner.hpp"
#include "sim/simulate.hpp"
#include "sim/timeline/timeline.hpp"
#include "sim/timeline/timeline_io.hpp"
