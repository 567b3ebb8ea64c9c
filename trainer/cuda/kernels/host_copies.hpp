#pragma once

#include <cstdint>

#include "trainer/cuda/kernels/stream.hpp"

namespace plumb::kernels {

/// Copies between the memories of host and device, whichever the two places are in. Unlike launchers it waits: for all
/// that stands on the stream.
void copy_and_wait(void* to, const void* from, std::int64_t bytes, Stream stream);

}  // namespace plumb::kernels
