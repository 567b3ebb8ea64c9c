#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tools/terminal/words.hpp"

namespace plumb {

/// Numbers of a range: "2,4,8", "8:64:8" (from 8 to 64 in steps of 8), "1:4", and mixtures such as "1,2,4:16:4".
/// Throws `Error` for anything else, numbers not `within`, and more than 100000 numbers.
std::vector<std::int64_t> parse_range(std::string_view text, std::string_view where,
                                      NumberRange within = {.least = 1, .most = std::int64_t{1} << 40});

}  // namespace plumb
