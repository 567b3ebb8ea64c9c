#include "tests/fuzz/launch_promise.hpp"

/// Launch files that end in .sh.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return plumb::testing::launch_or_refuse(plumb::testing::text_of(data, size), ".sh");
}
