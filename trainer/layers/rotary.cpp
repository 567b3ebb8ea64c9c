#include "trainer/layers/rotary.hpp"

#include <cmath>

namespace plumb {

template <class T>
Rotary<T>::Rotary(T* table, std::int64_t first, std::int64_t sequence, std::int64_t head_width)
    : table_(table), half_(head_width / 2) {
  for (std::int64_t i = 0; i < half_; ++i) {
    const double frequency = std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(half_));
    for (std::int64_t at = 0; at < sequence; ++at) {
      const double angle = static_cast<double>(first + at) * frequency;
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
