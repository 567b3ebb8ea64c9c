#include "tests/fuzz/promise.hpp"
#include "tools/claims/expression.hpp"

/// Any text is a formula with a value, or is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  return testing::read_or_refuse([&] { return evaluate_expression(testing::text_of(data, size), "formula"); },
                                 [](double) {});
}
