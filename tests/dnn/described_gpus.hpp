#pragma once

#include <string_view>

namespace plumb::cuda {

// GPUs as cuDNN 9.11 and later describes them. Sizes are those of CUDA's programming guide for compute capability 9.0
// and 8.0, counts and clocks those of the data sheets.
inline constexpr std::string_view kDescribedH200 = R"({"deviceName":"NVIDIA H200","deviceVer":900,"cudaDeviceId":0,
"driverVer":13000,"totalGlobalMem":150000000000,"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],
"regsPerBlock":65536,"multiProcessorCount":132,"warpSize":32,"maxSharedMemoryPerBlock":49152,
"maxSharedMemoryPerBlockOptin":232448,"reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,"maxCtasPerSM":32,
"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,"pciDeviceId":0,"isTccDriver":0,"supportCoopLaunch":1,
"smClockRateKHz":1980000,"memClockRateKHz":3201000,"l2CacheSize":62914560})";

inline constexpr std::string_view kDescribedA100 = R"({"deviceName":"NVIDIA A100-SXM4-80GB","deviceVer":800,
"cudaDeviceId":0,"driverVer":13000,"totalGlobalMem":85000000000,"maxGridSize":[2147483647,65535,65535],
"maxBlockSize":[1024,1024,64],"regsPerBlock":65536,"multiProcessorCount":108,"warpSize":32,
"maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":166912,"reservedSharedMemoryPerBlock":1024,
"maxRegistersPerSM":65536,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,"pciDeviceId":0,
"isTccDriver":0,"supportCoopLaunch":1,"smClockRateKHz":1410000,"memClockRateKHz":1593000,"l2CacheSize":41943040})";

}  // namespace plumb::cuda
