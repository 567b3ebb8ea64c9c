#pragma once

#include <cstdint>

#include "schedules/document/action.hpp"

namespace plumb {

/// Why one action waits for another.
enum class DependencyKind : std::uint8_t {
  kActivation,  ///< forward of the previous stage
  kGradient,    ///< backward of the next stage
  kStash,       ///< own forward (or recompute)
  kInputGrad,   ///< W after its I
  kExtra,       ///< declared in the document
};

struct Dependency {
  Action action;  ///< what must be done first (op, stage, microbatch, replica; a backward is given as kB and means "B
                  ///< or I")
  DependencyKind kind{};

  friend bool operator==(const Dependency&, const Dependency&) = default;
};

}  // namespace plumb
