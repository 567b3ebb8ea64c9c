#pragma once

#include <string_view>

namespace plumb {

/// Value of an arithmetic expression: numbers, + - * / ^, parentheses, min(a, b), max(a, b), ceil(a), floor(a),
/// log2(a). `where` begins messages. Throws `Error` for anything else, with the column.
double evaluate_expression(std::string_view text, std::string_view where);

}  // namespace plumb
