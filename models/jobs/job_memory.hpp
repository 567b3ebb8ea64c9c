#pragma once

#include <cstdint>
#include <span>

#include "models/costs/stage_costs.hpp"
#include "models/jobs/activation_peaks.hpp"
#include "models/jobs/job_kernels.hpp"

namespace plumb {

/// Parameters that one device holds of some layers, before ZeRO divides them.
struct DeviceParameters {
  std::int64_t dense = 0;   ///< divided over tensor ranks where matrices are; gradients reduced over all data ranks
  std::int64_t expert = 0;  ///< divided over expert ranks, too; reduced over the rest of the data ranks

  std::int64_t all() const { return dense + expert; }
};

/// Counts the parameters of `layer`, also inside of residuals. A tied head holds a copy of its own.
DeviceParameters device_parameters(const LayerSpec& layer, const JobShape& shape);

/// Counts the parameters of a stage; a head tied to an embedding beside it has no copy.
DeviceParameters stage_parameters(std::span<const LayerSpec> layers, const JobShape& shape);
/// Counts the parameters of a stage from those of `each` layer.
DeviceParameters stage_parameters(std::span<const LayerSpec> layers, std::span<const DeviceParameters> each);

/// Nineteen of twenty published peaks of allocated memory are within this share of the predicted ones, and allocators
/// held this much more than they had handed out, from least to most (results/public; a test holds all three).
inline constexpr double kPeakError = 0.06;
inline constexpr double kLeastHeld = 0.02;
inline constexpr double kMostHeld = 0.16;

/// What a device holds while a stage runs that is counted apart from the stage, or not by it.
struct HeldBeside {
  std::int64_t library_bytes = 0;      ///< workspace of products, the whole run
  std::int64_t forward_messages = 0;   ///< read and made by F
  std::int64_t backward_messages = 0;  ///< read and made by I and B
};

/// Memory of one device of a stage, without messages: weights, gradients and optimizer state with ZeRO, what is kept,
/// and what is alive inside of passes only (`PassPeaks`, in which messages are no longer counted). What libraries keep
/// for the whole run is counted in every pass.
StageMemory job_stage_memory(std::span<const LayerSpec> layers, const JobShape& shape, const HeldBeside& beside = {});

/// The parameters of a stage, and how many of its first layers are not like the others.
struct StageHolding {
  DeviceParameters parameters{};
  std::size_t sharded = 0;        ///< sharded as by ZeRO 3, whatever the job says of the others
  DeviceParameters of_sharded{};  ///< a part of `parameters`
  bool gathers = true;            ///< these layers are whole while they compute
};

/// Computes the memory of a stage whose holding and activations are known.
StageMemory job_stage_memory(std::span<const LayerSpec> layers, const JobShape& shape, const HeldBeside& beside,
                             const StageHolding& holding, const StageActivations& activations);

}  // namespace plumb
