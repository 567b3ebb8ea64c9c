#include "trainer/numbers/initial_weights.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

TEST_SUITE_BEGIN("trainer");

namespace plumb {

TEST_CASE("the values of a parameter do not depend on the others, nor on how many threads make them") {
  std::vector<ParameterFacts> parameters;
  for (int i = 0; i < 5; ++i) {  // together so many that threads help each other
    parameters.push_back(
        {.name = "p" + std::to_string(i), .shape = {300'000 + i}, .initial_deviation = i == 2 ? 0 : 0.5});
    parameters.back().initial_mean = i;
  }
  std::int64_t count = 0;
  for (const ParameterFacts& parameter : parameters) count += parameter.count();
  std::vector<float> all(static_cast<std::size_t>(count));
  fill_parameters(std::span<const ParameterFacts>(parameters), 7, all.data());
  auto begin = all.begin();
  for (const ParameterFacts& parameter : parameters) {
    CAPTURE(parameter.name);
    std::vector<float> alone(static_cast<std::size_t>(parameter.count()));
    fill_parameters(std::span(&parameter, 1), 7, alone.data());
    const auto end = begin + parameter.count();
    CHECK(std::vector<float>(begin, end) == alone);
    begin = end;
  }
}

}  // namespace plumb

TEST_SUITE_END();
