#pragma once

// Where to cut a network and how to run it: published planners, and the joint search. Library: plumb::plans.

#include "sim/plan_search/plan_search.hpp"
#include "sim/planners/planner.hpp"
