#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/support/source_directory.hpp"
#include "trainer/checkpoint/safetensors.hpp"

namespace plumb::testing {

/// The file `name` of tests/trainer/pytorch, which PyTorch made (README.md there).
inline std::string stored(const std::string& name) { return in_source("tests/trainer/pytorch/" + name); }

/// The numbers of a stored tensor; all are float64.
inline std::vector<double> numbers_of(const SafetensorsFile::Tensor& tensor) {
  std::vector<double> values(tensor.bytes.size() / sizeof(double));
  std::memcpy(values.data(), tensor.bytes.data(), values.size() * sizeof(double));
  return values;
}

inline std::vector<std::int32_t> ids_of(const SafetensorsFile::Tensor& tensor) {
  const std::vector<double> values = numbers_of(tensor);
  return {values.begin(), values.end()};
}

/// `drawn` of make_vectors.py: numbers in [-1, 1) that follow from a name.
inline std::vector<double> drawn(const std::string& name, std::size_t count) {
  std::uint64_t state = 0xcbf29ce484222325U;
  for (const char byte : name) state = (state ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  std::vector<double> numbers(count);
  for (double& number : numbers) {
    state += 0x9E3779B97F4A7C15U;
    std::uint64_t mixed = (state ^ (state >> 30U)) * 0xBF58476D1CE4E5B9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBU;
    number = static_cast<double>((mixed ^ (mixed >> 31U)) >> 11U) / 0x1p52 - 1;
  }
  return numbers;
}

/// The largest difference of two tensors, relative to the largest number of the second (at least 1); infinite where
/// they have not as many numbers, or one is no number.
inline double distance(const std::vector<double>& found, const std::vector<double>& expected) {
  if (found.size() != expected.size() || expected.empty()) return HUGE_VAL;
  double largest = 1;
  double difference = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!(std::abs(found[i] - expected[i]) < HUGE_VAL)) return HUGE_VAL;
    largest = std::max(largest, std::abs(expected[i]));
    difference = std::max(difference, std::abs(found[i] - expected[i]));
  }
  return difference / largest;
}

}  // namespace plumb::testing
