#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/costs/vocabulary_stages.hpp"
#include "models/ground/units.hpp"

namespace plumb {

/// What prices need to know of a schedule.
struct PricingShape {
  std::int32_t num_devices = 0;
  std::int32_t num_stages = 0;
  bool recompute = false;     ///< the schedule recomputes whole stages
  bool forward_only = false;  ///< inference: there is no backward
  std::optional<VocabularyStages> vocabulary{};
  std::vector<StageId> shares{};          ///< stages that are shares of blocks of several devices at once
  std::vector<std::int64_t> in_flight{};  ///< by stage: most microbatches between F and B; empty: not known
  /// By stage: the devices that hold it. Empty where the schedule is not made yet: one stage on each device.
  std::vector<std::vector<DeviceId>> holders{};

  /// Returns the stages that hold layers.
  std::int32_t num_layer_stages() const { return vocabulary ? vocabulary->num_layer_stages(num_stages) : num_stages; }
  /// Returns the stages that the model is cut into: those with layers, without the shares of blocks.
  std::int32_t num_model_stages() const {
    return std::max(1, num_layer_stages() - static_cast<std::int32_t>(shares.size()));
  }
};

}  // namespace plumb
