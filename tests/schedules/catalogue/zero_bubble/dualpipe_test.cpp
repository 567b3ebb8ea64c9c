#include <doctest/doctest.h>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/device_span.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {

namespace {

/// The list of the released code's example, W numbered by what they belong to, updates left out.
std::string dualpipev_text(const Schedule& schedule, std::int64_t device) {
  std::string text;
  for (const Action& action : expand(schedule.devices[static_cast<std::size_t>(device)])) {
    if (action.op == Op::kU) continue;
    const bool second = static_cast<std::int32_t>(action.stage) >= schedule.num_devices;
    const char* op = action.op == Op::kB ? "X" : action.op == Op::kI ? "B" : action.op == Op::kW ? "W" : "F";
    text += std::string(op) + (second ? "1" : "0") + (action.overlaps_next ? "&" : " ");
  }
  return text;
}

}  // namespace

TEST_CASE("dualpipev for three devices and six microbatches is the released order") {
  const Schedule schedule = generate("dualpipev", {.num_devices = 3, .num_microbatches = 6});
  CHECK(dualpipev_text(schedule, 0) ==
        "F0 F0 F0 F0 F0 F1 B1 W1 F1 B1 W1 F1 F0&X1 F1&X0 X1 F1&X0 X1 F1&X0 X1 B0 W0 B0 W0 B0 W0 ");
  CHECK(dualpipev_text(schedule, 1) ==
        "F0 F0 F0 F1 F0 F1 B1 W1 F1 F0&X1 F1&X0 F0&X1 F1&X0 X1 F1&X0 X1 X0 B1 B0 W1 B0 W0 W0 ");
  CHECK(dualpipev_text(schedule, 2) ==
        "F0 F1 F0 F1 F0 F1 F0 X1 F1&X0 F0&X1 F1&X0 F0&X1 F1&X0 X1 X0 X1 B0 B1 B0 W0 W1 W0 ");
  CHECK(replay(schedule, kEqualPasses).makespan == 40);
}

TEST_CASE("dualpipe takes 66 for 8 devices and 20 microbatches, dualpipev for half of both, each device idle for 6") {
  for (const auto& [name, p, m] : {std::tuple{"dualpipe", 8, 20}, std::tuple{"dualpipev", 4, 10}}) {
    const Schedule schedule = generate(name, {.num_devices = p, .num_microbatches = m});
    const Replay run = replay(schedule, kEqualPasses);
    CAPTURE(name);
    CHECK(run.makespan == 66);
    for (const auto& device : run.devices) {
      std::int64_t busy = 0;
      std::int64_t until = 0;
      for (const Placed& placed : device) {
        busy += placed.end - std::max(placed.start, until);
        until = placed.end;
      }
      CHECK(busy == 60);
    }
  }
}

TEST_CASE("a device of dualpipe and dualpipev keeps PP + 1 stashes of a stage") {
  for (const std::int32_t p : {2, 4, 8}) {
    CHECK(peak_stashes(generate("dualpipe", {.num_devices = p, .num_microbatches = 4 * p})) ==
          std::vector<std::int64_t>(static_cast<std::size_t>(p), p + 1));
    CHECK(peak_stashes(generate("dualpipev", {.num_devices = p, .num_microbatches = 3 * p})) ==
          std::vector<std::int64_t>(static_cast<std::size_t>(p), 2 * p + 1));
  }
}

TEST_CASE("dualpipe needs an even number of devices and twice as many microbatches, evenly") {
  const auto message = [](const char* name, std::int32_t p, std::int64_t m) {
    return error_message([&] { generate(name, {.num_devices = p, .num_microbatches = m}); });
  };
  CHECK(message("dualpipe", 3, 8) == "dualpipe: num_devices (3) must be even");
  CHECK(message("dualpipe", 4, 6) == "dualpipe: num_microbatches (6) must be even and at least 2 num_devices (8)");
  CHECK(message("dualpipe", 4, 9) == "dualpipe: num_microbatches (9) must be even and at least 2 num_devices (8)");
  CHECK(message("dualpipev", 4, 7) == "dualpipev: num_microbatches (7) must be at least 2 num_devices (8)");
}

TEST_CASE("the pictures of dualpipe and dualpipev are those in tests/golden") {
  const std::string dual = picture(generate("dualpipe", {.num_devices = 4, .num_microbatches = 10}), {});
  CHECK(dual == golden("schedules/dualpipe.txt", dual));
  const std::string half = picture(generate("dualpipev", {.num_devices = 2, .num_microbatches = 5}), {});
  CHECK(half == golden("schedules/dualpipev.txt", half));
}

}  // namespace plumb::testing

TEST_SUITE_END();
