#include "trainer/cuda/kernels/probes.hpp"

#include <doctest/doctest.h>

#include "tests/cuda_kernels/device_buffer.hpp"

// Of the emulated device only: its clock goes on with every look at it.

TEST_SUITE_BEGIN("cuda_kernels");

using namespace plumb;
using namespace plumb::kernels;

TEST_CASE("whoever waits for a message waits for the rest of its latency, and not at all when that is over") {
  DeviceBuffer<std::int64_t> times(3);
  stamp(times.data(), nullptr);
  wait_since(times.data(), 700, nullptr);
  stamp(times.data() + 1, nullptr);
  wait_since(times.data(), 700, nullptr);
  stamp(times.data() + 2, nullptr);
  CHECK(times.data()[1] - times.data()[0] >= 700);
  CHECK(times.data()[2] - times.data()[1] <= 2);  // a look at the clock or two
}

TEST_CASE("a link copies everything, and not before its latency has passed") {
  const std::vector<double> values = random_numbers(5000 * 4, 1);
  const DeviceBuffer<float> from(values), to(values.size());
  const DeviceBuffer<std::int64_t> times(2);
  stamp(times.data(), nullptr);
  link_copy({.to = to.data(), .from = from.data(), .bytes = 80000, .latency_ns = 700, .bytes_per_s = 80e9, .blocks = 2},
            nullptr);
  stamp(times.data() + 1, nullptr);
  CHECK(to.values() == values);
  CHECK(to.intact());
  CHECK(times.data()[1] - times.data()[0] >= 1700);
}

TEST_CASE("a gate that nobody opens opens itself: the host may be waiting for what stands in front of it") {
  unsigned int gate = 0;
  const DeviceBuffer<std::int64_t> times(3);
  stamp(times.data(), nullptr);
  wait_for(&gate, 700, nullptr);
  stamp(times.data() + 1, nullptr);
  CHECK(times.data()[1] - times.data()[0] >= 700);
  gate = 1;
  wait_for(&gate, 700, nullptr);
  stamp(times.data() + 2, nullptr);
  CHECK(times.data()[2] - times.data()[1] <= 3);  // a look at the clock or two
}

TEST_CASE("multiprocessors are counted and the clock is read") {
  const DeviceBuffer<std::int32_t> histogram(std::vector<double>(3, 0.0));
  count_multiprocessors(reinterpret_cast<unsigned int*>(histogram.data()), 2, 10, nullptr);
  CHECK(histogram.values() == std::vector<double>{4, 3, 0});  // of ten blocks on three, the third one not asked for
  ClockReading reading;
  read_clock(&reading, nullptr);
  CHECK(reading.nanoseconds >= 20000);
  CHECK(reading.cycles > 0);
}

TEST_SUITE_END();
