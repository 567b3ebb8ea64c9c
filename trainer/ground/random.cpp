#include "trainer/ground/random.hpp"

#include <cassert>
#include <cmath>
#include <numbers>

namespace plumb {

std::uint64_t Random::next() {
  std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

double Random::uniform() { return static_cast<double>(next() >> 11U) * 0x1p-53; }

double Random::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

std::uint64_t Random::below(std::uint64_t bound) {
  assert(bound > 0);
  const std::uint64_t rejected = (0 - bound) % bound;  // 2^64 mod bound
  std::uint64_t value = next();
  while (value < rejected) value = next();
  return value % bound;
}

std::uint64_t seed_for(std::uint64_t seed, std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return seed_for(seed, hash);
}

std::uint64_t seed_for(std::uint64_t seed, std::uint64_t number) { return Random(Random(seed).next() ^ number).next(); }

}  // namespace plumb
