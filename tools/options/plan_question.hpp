#pragma once

#include "tools/options/plan_search_arguments.hpp"

namespace plumb {

/// The search problem that the options describe. Throws `Error` for missing options and impossible values.
PlanQuestion plan_question(const PlanSearchArguments& arguments);

}  // namespace plumb
