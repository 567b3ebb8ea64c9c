#include "trainer/numbers/initial_weights.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "models/ground/error.hpp"
#include "trainer/ground/random.hpp"

namespace plumb {

namespace {

constexpr std::int64_t kFewNumbers = 1 << 20;  ///< numbers that one thread has made before others have started

template <class T>
void fill_parameter(const ParameterFacts& parameter, std::uint64_t seed, T* weights) {
  T* end = weights + parameter.count();
  if (parameter.initial_deviation == 0) {
    std::fill(weights, end, static_cast<T>(parameter.initial_mean));
    return;
  }
  Random random(seed_for(seed, parameter.name));
  std::generate(weights, end,
                [&] { return static_cast<T>(parameter.initial_mean + parameter.initial_deviation * random.normal()); });
}

}  // namespace

template <class T>
void fill_parameters(std::span<const ParameterFacts> parameters, std::uint64_t seed, T* weights) {
  std::vector<T*> begins;
  std::int64_t count = 0;
  for (const ParameterFacts& parameter : parameters) {
    begins.push_back(weights + count);
    count += parameter.count();
  }
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < parameters.size(); i = next++) fill_parameter(parameters[i], seed, begins[i]);
  };
  std::vector<std::jthread> helpers;
  const std::size_t most = count < kFewNumbers ? 1 : std::max(1U, std::thread::hardware_concurrency());
  while (helpers.size() + 1 < std::min(most, parameters.size())) helpers.emplace_back(work);
  work();
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
