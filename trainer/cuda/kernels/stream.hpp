#pragma once

struct CUstream_st;

namespace plumb::kernels {

/// A CUDA stream, the type of `cudaStream_t`, without CUDA's headers. Launchers only put work on it: they never
/// allocate, never wait, and may be captured in a graph. What goes wrong at a launch is thrown as `Error`.
using Stream = CUstream_st*;

}  // namespace plumb::kernels
