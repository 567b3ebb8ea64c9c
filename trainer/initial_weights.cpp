#include "trainer/initial_weights.hpp"

#include <algorithm>

#include "models/error.hpp"
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

template <class T>
void set_parameters(std::span<const ParameterFacts> parameters, const NamedValues& given, T* weights) {
  for (const ParameterFacts& parameter : parameters) {
    const auto found = given.find(parameter.name);
    if (found != given.end()) {
      const std::vector<double>& values = found->second;
      if (static_cast<std::int64_t>(values.size()) != parameter.count()) {
        throw Error("parameter '" + parameter.name + "': " + std::to_string(values.size()) +
                    " numbers given, expected " + std::to_string(parameter.count()));
      }
      std::transform(values.begin(), values.end(), weights, [](double value) { return static_cast<T>(value); });
    }
    weights += parameter.count();
  }
}

template void set_parameters(std::span<const ParameterFacts>, const NamedValues&, float*);
template void set_parameters(std::span<const ParameterFacts>, const NamedValues&, double*);

template void fill_parameters(std::span<const ParameterFacts>, std::uint64_t, float*);
template void fill_parameters(std::span<const ParameterFacts>, std::uint64_t, double*);

}  // namespace plumb
