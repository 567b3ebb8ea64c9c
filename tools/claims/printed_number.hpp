#pragma once

#include <optional>
#include <string_view>

namespace plumb {

/// What digits on paper say: 0.2431 is every number from 0.24305 to 0.24315.
struct PrintedNumber {
  double value = 0;
  double tolerance = 0;  ///< half a unit of the last digit; of a ratio, the farthest that both roundings lead away
};

/// Reads "0.2431", "14", or "12.9/11.8" (the ratio of two printed numbers). No value for any other text, for a divisor
/// that could be zero, and for more than 15 digits.
std::optional<PrintedNumber> printed_number(std::string_view text);

}  // namespace plumb
