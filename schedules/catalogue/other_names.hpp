#pragma once

#include <span>
#include <string_view>

namespace plumb {

/// What another system calls a schedule of the catalogue.
struct OtherName {
  std::string_view theirs;
  std::string_view ours;
  std::string_view system;
};

/// Names that differ from ours in more than capital letters, dashes and underscores.
std::span<const OtherName> other_names();

}  // namespace plumb
