#pragma once

#include <cstdint>
#include <memory>

#include "trainer/stages/backend.hpp"

namespace plumb {

/// Returns a stage's arithmetic on a GPU (`kernels::make_device_stage`), with the matrix products of cuBLASLt
/// and, where its place has them, attention and convolutions of cuDNN.
std::unique_ptr<StageBackend> make_cuda_stage(NumberType type, const StageSpec& spec);

/// Returns the bytes at `StreamPlace::scratch` that the stage needs.
std::int64_t cuda_scratch_bytes(NumberType type, const StageSpec& spec);

}  // namespace plumb
