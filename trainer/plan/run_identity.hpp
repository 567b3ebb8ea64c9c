#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trainer/plan/run_plan.hpp"

namespace plumb {

/// Returns the names and values that make two runs compute the same: a checkpoint resumes only in a run with equal
/// ones. Executor, back end and what is observed may differ.
std::vector<std::pair<std::string, std::string>> run_identity(const RunPlan& plan, std::int64_t passes);

}  // namespace plumb
