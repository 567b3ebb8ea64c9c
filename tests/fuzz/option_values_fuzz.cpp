#include <string>

#include "models/ground/rational.hpp"
#include "tests/fuzz/promise.hpp"
#include "tools/formats/schedule_guide.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/parse_range.hpp"
#include "tools/tables/what_if.hpp"
#include "tools/terminal/words.hpp"

/// What follows the first letter is a value of an option of the kind that the letter names, or is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  using testing::promise;
  using testing::read_or_refuse;
  if (size == 0) return 0;
  const std::string_view text = testing::text_of(data + 1, size - 1);
  switch (data[0]) {
    case 'r':
      return read_or_refuse([&] { return parse_rational(text); },
                            [](const Rational& value) {
                              promise(value.denominator > 0, "a positive denominator");
                              promise(parse_rational(to_string(value)) == value, "the same fraction");
                            });
    case 'n':
      return read_or_refuse([&] { return parse_range(text, "--n", {.least = 1, .most = 1000}); },
                            [](const std::vector<std::int64_t>& numbers) {
                              for (const std::int64_t n : numbers) promise(n >= 1 && n <= 1000, "within its bounds");
                            });
    case 'b':
      return read_or_refuse([&] { return parse_bytes(text, "--bytes"); },
                            [](std::int64_t bytes) { promise(bytes >= 0, "no negative memory"); });
    case 'l':
      return read_or_refuse([&] { return parse_layers(text, 4); },
                            [](const std::vector<std::int64_t>& layers) { promise(layers.size() == 4, "four parts"); });
    case 'w':
      return read_or_refuse([&] { return parse_what_if(text); },
                            [](const WhatIf& change) { promise(change.factor >= 0, "no negative time"); });
    case 'm':
      return read_or_refuse(
          [&] { return parse_memory_limit(std::string(text), StageCosts{}); },
          [](const MemoryLimit& limit) { promise(!limit.value || *limit.value >= 0, "no negative limit"); });
    default:
      return 0;
  }
}
