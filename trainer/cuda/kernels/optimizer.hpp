#pragma once

#include <cstdint>
#include <span>

#include "trainer/cuda/kernels/segment.hpp"
#include "trainer/cuda/kernels/stream.hpp"
#include "trainer/numbers/optimizer.hpp"

namespace plumb::kernels {

/// The flat blocks of a stage, parameters packed in the order of its layout.
template <class T>
struct OptimizerBlocks {
  T* weights = nullptr;
  const float* gradients = nullptr;
  /// Float: as on the CPU, all velocities or first moments, then all second moments. bf16: before those the
  /// weights in float, which the update works on; `weights` are their rounded copies.
  float* state = nullptr;
};

/// One update (trainer/numbers/optimizer.hpp), with the bits of the CPU in float. At most `kMostFollowers` followers;
/// throws Error for more.
template <class T>
void update_weights(const OptimizerOptions& options, const UpdateStep& step, std::span<const Segment> segments,
                    const OptimizerBlocks<T>& blocks, Stream stream);
inline constexpr int kMostFollowers = 4;

/// Returns the numbers of state per parameter.
template <class T>
std::int64_t state_count(const OptimizerOptions& options) {
  return optimizer_state_count(options) + (sizeof(T) < sizeof(float) ? 1 : 0);
}

}  // namespace plumb::kernels
