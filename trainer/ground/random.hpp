#pragma once

#include <cstdint>
#include <string_view>

namespace plumb {

/// Random numbers from a seed: SplitMix64 (Steele, Lea and Flood, 2014). The same on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next();
  double uniform();  ///< in [0, 1)
  double normal();   ///< mean 0, deviation 1 (Box and Muller)
  /// Returns a number in [0, bound), without bias. `bound` > 0.
  std::uint64_t below(std::uint64_t bound);

 private:
  std::uint64_t state_;
};

/// Returns a different seed for everything that has a name or a number.
std::uint64_t seed_for(std::uint64_t seed, std::string_view name);
std::uint64_t seed_for(std::uint64_t seed, std::uint64_t number);

}  // namespace plumb
