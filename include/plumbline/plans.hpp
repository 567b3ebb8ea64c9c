#pragma once

// Where to cut a network and how to run it: published planners, the joint search, and the search for the best order.
// Library: plumb::plans.

#include "sim/order_search/exact_order.hpp"
#include "sim/order_search/repetend.hpp"
#include "sim/order_search/repetend_schedule.hpp"
#include "sim/order_search/schedule_search.hpp"
#include "sim/order_search/shapes.hpp"
#include "sim/plan_search/plan_search.hpp"
#include "sim/planners/planner.hpp"
