#pragma once

#include <cstdint>
#include <vector>

#include "models/costs/memory_class.hpp"
#include "models/costs/stage_costs.hpp"
#include "schedules/program/program.hpp"

namespace plumb {

/// What a buffer holds. Stash tensors of equal life count as one buffer.
enum class BufferKind : std::uint8_t {
  kStashForInputGrad,   ///< made by F, last read by I
  kStashForWeightGrad,  ///< made by F, last read by W
  kStashFromInputGrad,  ///< made by I, last read by W
  kKeyGrads,            ///< sequence slices: sums of the gradients of earlier slices' keys and values
  kKeys,                ///< of a slice whose stash is dropped: its keys and values, which later slices read
  kInput,               ///< the stage's input, received or handed over on the device
  kOutput,              ///< the stage's output, on its way to another device
  kOutputGrad,          ///< gradient received for the output, or handed over on the device
  kInputGrad,           ///< gradient of the input, on its way to another device
  kWeightVersion,       ///< a version that an update replaced
  kWeights,             ///< of a stage that moves them
  kEvicted,             ///< activations held for another device
  kTeacherOutput,       ///< of the last stage, until the forward of its microbatch
  kWorkspace,
};

/// The kind of buffer that a stash tensor lives in.
BufferKind buffer_of(const StashTensor& tensor);

/// One change that every instr of a row makes, or makes on a condition.
struct PlannedChange {
  enum class When : std::uint8_t {
    kAlways,
    kForValue,  ///< the instr's value: a send buffer per message; without messages one buffer: `buffer` when the value
                ///< leaves the device, `handed_over` when it stays
    kIfLeaves,  ///< the value leaves the device without a message
    kIfRecomputed,  ///< an R of the same work stood before
  };

  When when = When::kAlways;
  MemoryClass cls{};
  BufferKind buffer{};
  BufferKind handed_over{};
  std::int64_t bytes = 0;  ///< negative when freed
};

/// Life of a buffer (schedules/program/program.hpp) for the instrs of one row, in the order that
/// sim/memory/memory_changes.hpp promises.
struct RowPlan {
  std::vector<PlannedChange> start;
  std::vector<PlannedChange> end;
  BufferKind received{};            ///< what comes from another stage; its slot when no message brings it ...
  std::int64_t received_bytes = 0;  ///< ... has so many bytes
};

/// What an EVICT frees and a LOAD allocates.
struct MovedBuffer {
  MemoryClass cls{};
  BufferKind buffer{};
  std::int64_t bytes = 0;
};

std::vector<MovedBuffer> moved_buffers(const Program& program, const Move& move);

/// The plans of all rows. Empty when memory is not modelled.
std::vector<RowPlan> row_plans(const Program& program);

}  // namespace plumb
