#pragma once

#include <string>

namespace plumb::testing {

/// Where `path` of the repository is on this machine.
std::string in_source(const std::string& path);

}  // namespace plumb::testing
