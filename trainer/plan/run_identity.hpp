#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trainer/plan/run_plan.hpp"

namespace plumb {

/// What makes two runs compute the same, name and value by name and value: a checkpoint goes on only with the same.
/// Executor, back end and what is watched may differ.
std::vector<std::pair<std::string, std::string>> run_identity(const RunPlan& plan, std::int64_t passes);

}  // namespace plumb
