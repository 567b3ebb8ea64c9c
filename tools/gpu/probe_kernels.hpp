#pragma once

#include <cuda_runtime_api.h>

namespace plumb::cuda {

/// Blocks of the largest cluster that the stream's multiprocessors can host.
int largest_cluster(cudaStream_t stream);

/// The GPU's clock in nanoseconds, `count` times in a row.
void read_times(long long* times, int count, cudaStream_t stream);

}  // namespace plumb::cuda
