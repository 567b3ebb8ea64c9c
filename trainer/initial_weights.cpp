#include "trainer/initial_weights.hpp"

#include <algorithm>

#include "trainer/random.hpp"

namespace plumb {

template <class T>
void fill_parameters(std::span<const ParameterFacts> parameters, std::uint64_t seed, T* weights) {
  for (const ParameterFacts& parameter : parameters) {
    T* end = weights + parameter.count();
    if (parameter.initial_deviation == 0) {
      std::fill(weights, end, static_cast<T>(parameter.initial_mean));
    } else {
      Random random(seed_for(seed, parameter.name));
      std::generate(weights, end, [&] {
        return static_cast<T>(parameter.initial_mean + parameter.initial_deviation * random.normal());
      });
    }
    weights = end;
  }
}

template void fill_parameters(std::span<const ParameterFacts>, std::uint64_t, float*);
template void fill_parameters(std::span<const ParameterFacts>, std::uint64_t, double*);

}  // namespace plumb
