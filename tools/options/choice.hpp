#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "models/ground/error.hpp"

namespace plumb {

/// The enumerator whose name is `name`; `names` are in the order of the enumerators.
/// Throws `Error("unknown WHAT 'name' ...")` with the nearest one.
template <class Enum, std::size_t N>
Enum enumerator(const std::array<std::string_view, N>& names, std::string_view what, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw_unknown(what, name, names);
  return static_cast<Enum>(found - names.begin());
}

}  // namespace plumb
