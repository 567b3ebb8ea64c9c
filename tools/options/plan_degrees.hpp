#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/jobs/parallelism.hpp"
#include "tools/options/plan_search_arguments.hpp"

namespace plumb {

/// The numbers of a range, or `otherwise` for an empty text. Throws `Error`, which names `where`, for what is no range.
std::vector<std::int64_t> numbers_or(const std::string& text, const char* where,
                                     const std::vector<std::int64_t>& otherwise);

/// All combinations of degrees and choices that the options of a search allow and the cluster has devices for.
/// `question` knows its network, cluster and job. Throws `Error` for options that are none, or not for this network.
std::vector<Parallelism> parallelisms_of(const PlanSearchArguments& arguments, const PlanQuestion& question);

}  // namespace plumb
