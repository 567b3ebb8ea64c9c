#pragma once

#include <cstdint>
#include <vector>

#include "schedules/document/schedule.hpp"

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

/// Whoever waits for whom, written once: everything that `action` of `schedule` needs, by rule and by `extra_edges`.
/// At most four entries for a chain. Updates and collectives depend on order, which the validator checks.
std::vector<Dependency> dependencies(const Schedule& schedule, const Action& action);

}  // namespace plumb
