#pragma once

#include <cstdint>

#include "models/costs/memory_class.hpp"
#include "schedules/program/program.hpp"
#include "sim/memory/memory_plan.hpp"

namespace plumb {

/// Moments at which buffers are allocated and freed: just before an instr (waits of sends, then posts), at its start,
/// at its end.
enum class MemoryPhase : std::uint8_t { kBefore, kStart, kEnd };

/// One allocation or release of a buffer on one device (schedules/program/program.hpp, "Life of a buffer").
struct MemoryChange {
  static constexpr InstrIndex kNobody = 0xFFFFFFFFU;

  InstrIndex instr = 0;  ///< where it happens; the lane's end for sends waited for after the last instr (kBefore)
  MemoryPhase phase{};
  MemoryClass cls{};
  BufferKind buffer{};
  InstrIndex owner = 0;        ///< the instr whose stage and microbatches the buffer belongs to
  std::int64_t bytes = 0;      ///< negative when freed
  InstrIndex other = kNobody;  ///< the instr at the other end of a message: only what both work on is in it

  friend bool operator==(const MemoryChange&, const MemoryChange&) = default;
};

}  // namespace plumb
