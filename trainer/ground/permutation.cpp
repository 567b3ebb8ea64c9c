#include "trainer/ground/permutation.hpp"

#include "trainer/ground/random.hpp"

namespace plumb {

std::uint64_t permuted(std::uint64_t i, std::uint64_t count, std::uint64_t seed) {
  std::uint32_t half_bits = 1;
  while (half_bits < 32 && (std::uint64_t{1} << (2 * half_bits)) < count) ++half_bits;
  const std::uint64_t mask = (std::uint64_t{1} << half_bits) - 1;
  do {
    std::uint64_t left = i >> half_bits;
    std::uint64_t right = i & mask;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint64_t mixed = left ^ (Random(seed_for(seed_for(seed, round), right)).next() & mask);
      left = right;
      right = mixed;
    }
    i = left << half_bits | right;
  } while (i >= count);
  return i;
}

std::int64_t epoch_sample(std::int64_t n, std::int64_t count, std::uint64_t seed) {
  const std::uint64_t order = seed_for(seed, static_cast<std::uint64_t>(n / count));
  return static_cast<std::int64_t>(
      permuted(static_cast<std::uint64_t>(n % count), static_cast<std::uint64_t>(count), order));
}

}  // namespace plumb
