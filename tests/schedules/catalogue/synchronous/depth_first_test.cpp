#include <doctest/doctest.h>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {

TEST_CASE("depth-first is interleaved under its other name") {
  for (const std::int32_t v : {0, 1, 3}) {
    CAPTURE(v);
    const Schedule deep = generate("depth-first", {.num_devices = 4, .num_microbatches = 12, .chunks = v});
    const Schedule interleaved = generate("interleaved", {.num_devices = 4, .num_microbatches = 12, .chunks = v});
    CHECK(deep.name == "depth-first");
    CHECK(deep.devices == interleaved.devices);
  }
}

TEST_CASE("depth-first changes the chunk of a device far more often than breadth-first") {
  const auto changes = [](const char* name, std::size_t device) {
    const Schedule schedule = generate(name, {.num_devices = 4, .num_microbatches = 8, .chunks = 2});
    int runs = 0;
    StageId last{-1};
    for (const Action& action : expand(schedule.devices[device])) {
      if (action.op != Op::kU && action.stage != last) ++runs;
      last = action.stage;
    }
    return runs - 1;  // the first chunk of the step is no change; updates touch both chunks once more
  };
  CHECK(changes("breadth-first", 0) == 2);
  CHECK(changes("depth-first", 0) == 10);
  CHECK(changes("depth-first", 1) == 18);
  CHECK(changes("depth-first", 2) == 12);
  CHECK(changes("depth-first", 3) == 4);
}

TEST_CASE("depth-first refuses a rest of microbatches without naming an option that it has not") {
  CHECK(generate("depth-first", {.num_devices = 4, .num_microbatches = 3}).num_microbatches == 3);
  CHECK(
      error_message([] { generate("depth-first", {.num_devices = 4, .num_microbatches = 6}); }) ==
      "depth-first: num_microbatches (6) must be a multiple of num_devices (4) or smaller; 'interleaved' has groups of "
      "other sizes");
}

}  // namespace plumb::testing

TEST_SUITE_END();
