#pragma once

#include <string>

namespace plumb {

/// The titles of the columns of a comparison. A prediction has an error, two schedules have a difference.
struct ComparedNames {
  std::string first = "first";
  std::string second = "second";
  std::string apart = "difference";
};

}  // namespace plumb
