#pragma once

#include <stdexcept>

namespace plumb {

/// Thrown out of a wait when the run was stopped because another device failed.
class Stopped : public std::runtime_error {
 public:
  Stopped() : std::runtime_error("the run was stopped") {}
};

}  // namespace plumb
