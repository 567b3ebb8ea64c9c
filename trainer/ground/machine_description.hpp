#pragma once

#include <string>

namespace plumb {

/// Returns the machine that this program runs on: "AMD EPYC ..., 2 threads".
std::string machine_description();

}  // namespace plumb
