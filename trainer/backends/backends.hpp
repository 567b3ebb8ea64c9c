#pragma once

#include <span>
#include <string_view>

#include "trainer/stages/backend.hpp"

namespace plumb {

/// Returns the back ends of this build, in order of preference; "cpu" is always there.
std::span<const Backend> backends();

/// Returns the back end called `name`. Throws `Error` with the nearest name.
const Backend& backend(std::string_view name);

}  // namespace plumb
