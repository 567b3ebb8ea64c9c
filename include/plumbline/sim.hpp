#pragma once

// What would happen: timelines and comparisons. Library: plumb::sim.

#include "sim/campaign/campaign.hpp"
#include "sim/comparison/compare.hpp"
#include "sim/comparison/ranking.hpp"
#include "sim/prediction/predict.hpp"
#include "sim/simulate.hpp"
#include "sim/timeline/timeline.hpp"
#include "sim/timeline/timeline_io.hpp"
