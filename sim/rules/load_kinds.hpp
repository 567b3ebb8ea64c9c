#pragma once

#include <optional>

#include "models/cluster/contention.hpp"
#include "schedules/document/action.hpp"
#include "schedules/program/program.hpp"

namespace plumb {

/// Returns the kind of load that an action of `op` outside a pair is for other actions; empty for ops that do not
/// compute.
constexpr std::optional<Load> load_of(Op op) {
  switch (op) {
    case Op::kF:
      return Load::kF;
    case Op::kB:
      return Load::kB;
    case Op::kI:
      return Load::kI;
    case Op::kW:
      return Load::kW;
    case Op::kR:
      return Load::kR;
    case Op::kU:
    case Op::kV:
      return Load::kU;
    case Op::kX:
      return Load::kX;
    default:
      return std::nullopt;
  }
}

/// Returns whether actions of the program take longer when others are under way.
inline bool is_contended(const Program& program) { return !program.contention.empty(); }

}  // namespace plumb
