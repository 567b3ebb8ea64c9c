#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace plumb {

/// What the operands of a matrix product are made of.
enum class MatrixFormat : std::uint8_t {
  kBf16,        ///< 16 bits, no scale
  kFp8,         ///< 8 bits, one scale per tensor from earlier steps (delayed scaling)
  kFp8Current,  ///< 8 bits, one scale per tensor from its own largest number
  kFp8Block,    ///< 8 bits, one scale per block of 128
  kMxFp8,       ///< 8 bits, one power of two per 32 numbers (OCP microscaling)
  kNvFp4,       ///< 4 bits, one 8-bit scale per 16 numbers
};

inline constexpr std::size_t kMatrixFormatCount = 6;
inline constexpr std::array<std::string_view, kMatrixFormatCount> kMatrixFormatNames{
    "bf16", "fp8", "fp8-current", "fp8-block", "mxfp8", "nvfp4"};

}  // namespace plumb
