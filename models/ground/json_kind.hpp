#pragma once

#include <cstdint>

namespace plumb {

/// What a value of a JSON text is. An integer is written without fraction and exponent, and fits in 64 bits.
enum class JsonKind : std::uint8_t { kNull, kBoolean, kInteger, kNumber, kString, kArray, kObject };

}  // namespace plumb
