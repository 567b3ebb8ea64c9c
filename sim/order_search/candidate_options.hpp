#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/ground/named_option.hpp"

namespace plumb {

/// Values that a search tries for an option of a schedule on `devices` with `microbatches`: all words; of numbers those
/// up to 64 (twice the devices where that is more), and larger divisors of the microbatches. None for options that
/// change the work, the devices of a stage, the copies of the model or only the effort of a schedule that is searched
/// itself, and for those whose values are lists.
std::vector<std::string> tried_values(const NamedOption& option, std::int64_t devices, std::int64_t microbatches);

}  // namespace plumb
