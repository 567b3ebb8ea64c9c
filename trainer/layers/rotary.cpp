#include "trainer/layers/rotary.hpp"

#include <cmath>
#include <numbers>

namespace plumb {

double rotary_frequency(const RotaryTurns& turns, std::int64_t i, std::int64_t head_width) {
  const double frequency = std::pow(turns.base, -static_cast<double>(i) / static_cast<double>(head_width / 2));
  if (turns.original == 0) return frequency / turns.factor;
  const double length = 2 * std::numbers::pi / frequency;
  if (length < turns.original / turns.high) return frequency;
  if (length > turns.original / turns.low) return frequency / turns.factor;
  const double share = (turns.original / length - turns.low) / (turns.high - turns.low);
  return (1 - share) * frequency / turns.factor + share * frequency;
}

template <class T>
Rotary<T>::Rotary(T* table, const RotaryTurns& turns, const MicrobatchShape& shape, std::int64_t head_width)
    : table_(table), half_(head_width / 2) {
  for (std::int64_t i = 0; i < half_; ++i) {
    const double frequency = rotary_frequency(turns, i, head_width);
    for (std::int64_t at = 0; at < shape.sequence; ++at) {
      const double angle = static_cast<double>(shape.before + at) * frequency;
      table[at * 2 * half_ + i] = static_cast<T>(std::cos(angle));
      table[at * 2 * half_ + half_ + i] = static_cast<T>(std::sin(angle));
    }
  }
}

template <class T>
void Rotary<T>::turn(T* row, std::int64_t at, T direction) const {
  const T* cosine = table_ + at * 2 * half_;
  const T* sine = cosine + half_;
  for (std::int64_t i = 0; i < half_; ++i) {
    const T a = row[i];
    const T b = row[half_ + i];
    row[i] = a * cosine[i] - direction * b * sine[i];
    row[half_ + i] = b * cosine[i] + direction * a * sine[i];
  }
}

template class Rotary<float>;
template class Rotary<double>;

}  // namespace plumb
