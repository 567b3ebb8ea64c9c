#pragma once

#include <cstdint>

#include "models/network/network.hpp"

namespace plumb {

/// Angle by which number `i` of a head turns from one position to the next.
double rotary_frequency(const RotaryTurns& turns, std::int64_t i, std::int64_t head_width);

/// Rotary position embedding (Su et al., 2021), Llama's layout: number i of a head turns with number i + width/2 by
/// position * rotary_frequency(i).
template <class T>
class Rotary {
 public:
  /// For positions [first, first + shape.sequence), where `first` are the tokens before a slice. `table` has room for
  /// sequence * head_width numbers and is filled here.
  Rotary(T* table, const RotaryTurns& turns, const MicrobatchShape& shape, std::int64_t head_width);

  /// Turns one head's row at position first + `at`; `direction` +1, or -1 to turn (a gradient) back.
  void turn(T* row, std::int64_t at, T direction) const;

 private:
  const T* table_;
  std::int64_t half_;
};

}  // namespace plumb
