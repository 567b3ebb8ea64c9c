#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "trainer/device_worker.hpp"
#include "trainer/train.hpp"

namespace plumb {

using Workers = std::span<const std::unique_ptr<DeviceWorker>>;

/// FNV-1a over the newest weights, parameter by parameter in order of name, each once (further copies of a tied weight
/// and of a stage are passed over): equal bits give equal hashes, however the network is cut and placed.
std::uint64_t weights_hash(Workers workers);

/// The newest weights by parameter name.
NamedValues final_parameters(Workers workers, NumberType type);

/// Gradients as the last update of every stage used them, before scaling.
NamedValues last_gradients(Workers workers, NumberType type);

}  // namespace plumb
