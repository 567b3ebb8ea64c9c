#pragma once

#include <cstdint>
#include <memory>

#include "trainer/backend.hpp"

namespace plumb {

/// A stage's arithmetic on the stream of `spec.place`: blocks, weights, gradients and state are in the GPU's memory,
/// ids and loss where it reads and writes them. Passes and updates are only put on the stream; what returns numbers
/// waits for them. Throws Error for numbers or layers that have no arithmetic on CUDA.
std::unique_ptr<StageBackend> make_cuda_stage(NumberType type, const StageSpec& spec);

/// Bytes at `StreamPlace::scratch` that the stage needs.
std::int64_t cuda_scratch_bytes(NumberType type, const StageSpec& spec);

}  // namespace plumb
