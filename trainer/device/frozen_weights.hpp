#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "trainer/memory/arena.hpp"
#include "trainer/memory/device_memory.hpp"
#include "trainer/methods/correction.hpp"
#include "trainer/numbers/number_type.hpp"
#include "trainer/plan/run_plan.hpp"

namespace plumb {

/// The weights of a device that no update changes: one block for each stage, which all copies of the stage on the
/// device read (jobs that train adapters of their own over the same network). They follow from the seed, or from
/// weights that are given, so that no checkpoint has them.
class FrozenWeights {
 public:
  /// Draws those of a stage, or takes what is given, unless they are there.
  void make(const RunPlan& plan, StageId stage, Arena& arena);
  /// Empty where the stage has none.
  std::span<const std::byte> of(StageId stage) const;
  /// Returns the weights for the host to read: float32 with bf16.
  std::span<const std::byte> stored(StageId stage, DeviceMemory& memory, NumberType numbers);

 private:
  std::map<StageId, Block> blocks_;
  std::map<StageId, std::vector<std::byte>> seen_;  ///< where the host cannot read them as they are
};

/// What the copies of a stage on a device share.
struct SharedByCopies {
  SharedBuffers corrections;
  FrozenWeights frozen;
};

}  // namespace plumb
