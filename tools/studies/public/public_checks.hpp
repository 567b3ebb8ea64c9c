#pragma once

#include <string>

#include "tools/studies/public/public_results.hpp"

namespace plumb {

/// What step times hide, as Markdown: groups by their error when none of their rows took part in the fit, worst first;
/// times of stages by pass; and whether the fastest way to run a job is found.
std::string public_checks(const PublicResults& results);

}  // namespace plumb
