#pragma once

#include <cuda_runtime_api.h>

#include <span>
#include <string>
#include <vector>

#include "trainer/cuda/kernels/attention/attention.hpp"
#include "trainer/cuda/kernels/convolution_units.hpp"
#include "trainer/numbers/number.hpp"

namespace plumb::cuda {

/// |a - b| / |b|, both as vectors; infinite where a number is none. 0 where both are zero.
double relative_difference(std::span<const float> a, std::span<const float> b);

/// Rows of results on the device.
struct DnnResult {
  std::string name;
  const void* rows = nullptr;
  std::int64_t stride = 0;  ///< numbers from row to row
  std::int64_t width = 0;   ///< numbers of a row that count
  std::int64_t count = 0;   ///< rows
  bool is_float = false;    ///< otherwise bf16
  bool from_bf16 = false;   ///< floats that were bf16 before: as far apart as those may be
};

std::vector<DnnResult> results_of(const kernels::AttentionForward<kernels::BFloat16>& attention);
std::vector<DnnResult> results_of(const kernels::AttentionBackward<kernels::BFloat16>& attention);
std::vector<DnnResult> results_of(const kernels::ConvolutionCall<kernels::BFloat16>& call);

/// Returns the numbers of results, on the host. Waits for the stream.
std::vector<std::vector<float>> values_of(const std::vector<DnnResult>& results, cudaStream_t stream);

/// "attended differs by 0.31 from our kernels" where bf16 does not explain it: by more than 2 %, log sums by more than
/// 0.1 %. Empty: it does.
std::string difference_of(const std::vector<DnnResult>& results, const std::vector<std::vector<float>>& values,
                          const std::vector<std::vector<float>>& ours);

}  // namespace plumb::cuda
