#pragma once

#include <cstdint>

namespace plumb {

/// Rotary position embedding (Su et al., 2021), Llama's layout: number i of a head turns with number i + width/2 by
/// position * 10000^(-2i/width).
template <class T>
class Rotary {
 public:
  /// For positions [first, first + sequence). `table` has room for sequence * head_width numbers and is filled here.
  Rotary(T* table, std::int64_t first, std::int64_t sequence, std::int64_t head_width);

  /// Turns one head's row at position first + `at`; `direction` +1, or -1 to turn (a gradient) back.
  void turn(T* row, std::int64_t at, T direction) const;

 private:
  const T* table_;
  std::int64_t half_;
};

}  // namespace plumb
