#include "models/network/layer_fields.hpp"

#include <cstdio>
#include <string>

#include <doctest/doctest.h>

#include "tests/support/golden.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb::testing {
namespace {

std::string real_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

}  // namespace

TEST_CASE("a field of a layer is called, bounded and left out as tests/golden/layer_fields.txt says") {
  constexpr const char* kMissing[]{"required", "0", "1", "network", "before", "4 widths", "kernel", "half kernel"};
  std::string text;
  for (const LayerFields& fields : layer_fields()) {
    const std::string name(fields.name);
    text += name + "\n";
    for (const LayerNumber& number : fields.numbers) {
      text += "  " + std::string(number.key) + ": " + std::to_string(number.least) + " to " +
              std::to_string(number.most) + ", otherwise " + kMissing[static_cast<std::size_t>(number.when_missing)] +
              "\n";
    }
    for (const LayerReal& real : fields.reals) {
      text += "  " + std::string(real.key) + ": " + real_text(real.least) + " to " + real_text(real.most) + "\n";
    }
    for (const LayerSwitch& one : fields.switches) text += "  " + std::string(one.key) + "\n";
  }
  CHECK(text == golden("layer_fields.txt", text));
}

}  // namespace plumb::testing

TEST_SUITE_END();
