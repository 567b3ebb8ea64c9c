#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace plumb {

/// Names and their values.
using WholeNames = std::map<std::string, std::int64_t, std::less<>>;

/// The value of an expression of whole numbers: names, + - * / (rounded down) and %, comparisons (1 or 0), min(a, b),
/// max(a, b), parentheses. Throws `Error`, beginning with `where`, for anything else, unknown names (with the nearest),
/// divisors below 1 and values beyond 10^15.
std::int64_t whole_value(std::string_view text, const WholeNames& names, const std::string& where);

}  // namespace plumb
