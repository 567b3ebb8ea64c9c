#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "models/network/network.hpp"
#include "trainer/numbers/optimizer.hpp"

namespace plumb {

/// Type of the numbers that a run computes with.
enum class NumberType : std::uint8_t {
  kFloat32,
  kFloat64,
  /// Passes read bf16 weights and make bf16 values; gradients, optimizer state and the weights that updates work on
  /// ("masters", before the optimizer's state) are float32.
  kBFloat16,
};

/// "float32", "float64" or "bf16".
std::string_view name_of(NumberType type);

/// Sizes for `StageLayout`.
Precision precision_of(NumberType type, const OptimizerOptions& options);

/// Returns the bytes of a weight as the host and checkpoints see it: the master's where there is one.
std::int64_t host_number_bytes(NumberType type);

/// float32 to bf16, to the nearest, and back.
std::vector<std::byte> rounded_to_bfloat16(std::span<const std::byte> floats);
std::vector<std::byte> widened_from_bfloat16(std::span<const std::byte> numbers);

}  // namespace plumb
