#pragma once

#include <stdexcept>

namespace plumb {

/// Thrown out of a wait that will never end, because another device or process failed and the run was aborted.
class RunAborted : public std::runtime_error {
 public:
  RunAborted() : std::runtime_error("the run was aborted") {}
};

}  // namespace plumb
