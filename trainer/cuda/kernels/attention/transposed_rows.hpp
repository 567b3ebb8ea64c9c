#pragma once

#include <cstdint>

#include "trainer/cuda/kernels/stream.hpp"

namespace plumb::kernels {

/// A matrix of every sample, one after the other.
struct SampleMatrices {
  std::int64_t samples = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

/// The transposes of `from`: numbers by token and head become numbers by head and token.
void transpose_rows(const float* from, float* to, const SampleMatrices& of, Stream stream);

}  // namespace plumb::kernels
