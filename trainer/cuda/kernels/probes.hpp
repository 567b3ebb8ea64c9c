#pragma once

#include <cstdint>

#include "trainer/cuda/kernels/stream.hpp"

// Kernels that tell something about the machine, or hold it up.

namespace plumb::kernels {

/// Copies as a link of the given latency and bandwidth would: the first bytes arrive `latency_ns` after the start, the
/// rest at `bytes_per_s`, never earlier. For the multiprocessors that no compute uses.
struct LinkCopy {
  void* to = nullptr;
  const void* from = nullptr;
  std::int64_t bytes = 0;  ///< places and bytes are multiples of 16
  std::int64_t latency_ns = 0;
  double bytes_per_s = 0;  ///< 0: as fast as it goes
  int blocks = 4;
};
void link_copy(const LinkCopy& copy, Stream stream);

/// Counts in `histogram[i]` the blocks that have run on multiprocessor i < `multiprocessors`; enough blocks to meet all
/// of the stream's.
void count_multiprocessors(unsigned int* histogram, int multiprocessors, int blocks, Stream stream);

/// Keeps `blocks` multiprocessors busy for that long.
void spin(std::int64_t nanoseconds, int blocks, Stream stream);

/// What a device's clock counts while it works: cycles and nanoseconds of a fixed loop.
struct ClockReading {
  std::int64_t cycles = 0;
  std::int64_t nanoseconds = 0;
};
void read_clock(ClockReading* reading, Stream stream);

/// Waits until the host writes a number other than 0 (in memory that the host shares): a gate before a step. Not
/// longer than `longest_ns`: the host may be waiting itself for work before the gate.
void wait_for(const volatile unsigned int* gate, std::int64_t longest_ns, Stream stream);

/// Writes the device's time in nanoseconds.
void stamp(std::int64_t* time, Stream stream);

/// Waits until `length_ns` have passed since `time` was stamped; not at all when they have.
void wait_since(const std::int64_t* time, std::int64_t length_ns, Stream stream);

}  // namespace plumb::kernels
