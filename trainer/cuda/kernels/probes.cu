#include "trainer/cuda/kernels/probes.hpp"

#include "trainer/cuda/kernels/platform.cuh"

namespace plumb::kernels {

namespace {

constexpr unsigned int kCopyThreads = 256;
constexpr int kCopiesPerThread = 4;
constexpr std::int64_t kChunkUnits = std::int64_t{kCopyThreads} * kCopiesPerThread;  ///< units of 16 bytes

/// Blocks take the chunks in turn; a chunk is due when the link would have brought its last byte.
__global__ void __launch_bounds__(kCopyThreads)
    copy_chunks(uint4* to, const uint4* from, std::int64_t units, std::int64_t latency_ns, double ns_per_chunk) {
  const std::int64_t start = nanoseconds();
  for (std::int64_t chunk = blockIdx.x; chunk * kChunkUnits < units; chunk += gridDim.x) {
    uint4 values[kCopiesPerThread];
    const std::int64_t first = chunk * kChunkUnits + threadIdx.x;
#pragma unroll
    for (int i = 0; i < kCopiesPerThread; ++i) {
      const std::int64_t at = first + static_cast<std::int64_t>(i) * kCopyThreads;
      if (at < units) values[i] = from[at];
    }
    const std::int64_t due =
        start + latency_ns + static_cast<std::int64_t>(static_cast<double>(chunk + 1) * ns_per_chunk);
    while (nanoseconds() < due) pause();
#pragma unroll
    for (int i = 0; i < kCopiesPerThread; ++i) {
      const std::int64_t at = first + static_cast<std::int64_t>(i) * kCopyThreads;
      if (at < units) to[at] = values[i];
    }
  }
}

__global__ void count_block(unsigned int* histogram, unsigned int multiprocessors) {
  const unsigned int number = multiprocessor();
  if (threadIdx.x == 0 && number < multiprocessors) atomicAdd(histogram + number, 1U);
}

__global__ void spin_until(std::int64_t length_ns) {
  const std::int64_t end = nanoseconds() + length_ns;
  while (nanoseconds() < end) pause();
}

__global__ void read_both_clocks(ClockReading* reading) {
  constexpr std::int64_t kLoopNs = 20'000;
  const std::int64_t first_cycle = cycles();
  const std::int64_t first = nanoseconds();
  std::int64_t now = first;
  while (now < first + kLoopNs) now = nanoseconds();
  *reading = {cycles() - first_cycle, now - first};
}

__global__ void wait_at_gate(const volatile unsigned int* gate, std::int64_t longest_ns) {
  const std::int64_t end = nanoseconds() + longest_ns;
  while (*gate == 0 && nanoseconds() < end) pause();
}

__global__ void spin_since(const std::int64_t* time, std::int64_t length_ns) {
  const std::int64_t end = *time + length_ns;
  while (nanoseconds() < end) pause();
}

__global__ void write_time(std::int64_t* time) { *time = nanoseconds(); }

}  // namespace

void link_copy(const LinkCopy& copy, Stream stream) {
  constexpr double kChunkBytes = 16.0 * static_cast<double>(kChunkUnits);
  const double ns_per_chunk = copy.bytes_per_s > 0 ? kChunkBytes / copy.bytes_per_s * 1e9 : 0.0;
  launch(copy_chunks, {dim3(static_cast<unsigned int>(copy.blocks)), dim3(kCopyThreads)}, stream,
         static_cast<uint4*>(copy.to), static_cast<const uint4*>(copy.from), copy.bytes / 16, copy.latency_ns,
         ns_per_chunk);
}

void count_multiprocessors(unsigned int* histogram, int multiprocessors, int blocks, Stream stream) {
  launch(count_block, {dim3(static_cast<unsigned int>(blocks)), dim3(kWarp)}, stream, histogram,
         static_cast<unsigned int>(multiprocessors));
}

void spin(std::int64_t nanoseconds, int blocks, Stream stream) {
  launch(spin_until, {dim3(static_cast<unsigned int>(blocks)), dim3(1)}, stream, nanoseconds);
}

void read_clock(ClockReading* reading, Stream stream) { launch(read_both_clocks, {dim3(1), dim3(1)}, stream, reading); }

void wait_for(const volatile unsigned int* gate, std::int64_t longest_ns, Stream stream) {
  launch(wait_at_gate, {dim3(1), dim3(1)}, stream, gate, longest_ns);
}

void stamp(std::int64_t* time, Stream stream) { launch(write_time, {dim3(1), dim3(1)}, stream, time); }

void wait_since(const std::int64_t* time, std::int64_t length_ns, Stream stream) {
  launch(spin_since, {dim3(1), dim3(1)}, stream, time, length_ns);
}

}  // namespace plumb::kernels
