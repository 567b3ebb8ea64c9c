#pragma once

#include <functional>
#include <string>

#include "tools/options/plan_search_arguments.hpp"

namespace plumb {

/// Where nothing fits: on how many devices of the same built-in cluster a short search finds a plan that surely fits,
/// and on how many it found none. It doubles the nodes until one is found, and then halves the interval. `arguments`
/// are those of `question`. Empty for other clusters, and where nothing was found before `stop`.
std::string enough_devices_text(const PlanSearchArguments& arguments, const PlanQuestion& question,
                                const std::function<bool()>& stop);

}  // namespace plumb
