#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedules/program/program.hpp"
#include "sim/simulate.hpp"

namespace plumb {

/// "What if all W took 0.9 of their time": one kind of action made faster or slower.
struct WhatIf {
  std::string kind;
  double factor = 1;
};

/// Reads "W=0.9" (a factor of the time). Throws `Error` for anything else.
WhatIf parse_what_if(std::string_view text);

/// A table of the makespan with each change, compared with `makespan`, that of `program` as it is.
/// Throws `Error` for kinds that the program does not have.
std::string what_if_text(const Program& program, const SimOptions& options, Ticks makespan,
                         const std::vector<WhatIf>& changes);

}  // namespace plumb
