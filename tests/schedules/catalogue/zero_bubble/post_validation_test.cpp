#include <doctest/doctest.h>

#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "tests/support/device_span.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
TEST_CASE("post-validation puts the V of an update before the first action after the next warm-up") {
  for (const char* name : {"zb-h1", "zb-h2", "zb-2p", "zb-v"}) {
    CAPTURE(name);
    const ScheduleParams params{
        .num_devices = 3, .num_microbatches = 6, .updates = 3, .options = {{"validation", "post"}}};
    const Schedule schedule = generate(name, params);
    const auto violations = validate(schedule);
    if (!violations.empty()) FAIL_CHECK(to_string(violations.front()));
    CHECK(replay(schedule, kEqualPasses).finished);
    ScheduleParams plain = params;
    plain.options.clear();
    CHECK(replay(schedule, kEqualPasses).makespan >= replay(generate(name, plain), kEqualPasses).makespan);
  }
  const Schedule schedule =
      generate("zb-h1", {.num_devices = 2, .num_microbatches = 2, .updates = 2, .options = {{"validation", "post"}}});
  CHECK(list_text(schedule, 0) == "0F0 0F1 0I0 0W0 0I1 0W1 0U0 0F2 0F3 0V0 0I2 0W2 0I3 0W3 0U1 0V1");
  CHECK(list_text(schedule, 1) == "1F0 1I0 1F1 1I1 1W0 1W1 1U0 1F2 1V0 1I2 1F3 1I3 1W2 1W3 1U1 1V1");
}

TEST_CASE("updates that wait for all gradients cost zb-h2 its zero bubble, validation afterwards does not") {
  const auto makespan = [](const char* validation) {
    const Schedule schedule = generate(
        "zb-h2", {.num_devices = 4, .num_microbatches = 12, .updates = 4, .options = {{"validation", validation}}});
    CHECK(validate(schedule).empty());
    return replay(schedule, kEqualPasses).makespan;
  };
  CHECK(makespan("none") == 4 * 36 + 3);
  CHECK(makespan("post") == 4 * 36 + 3);
  CHECK(makespan("sync") == 4 * (36 + 3));
}

}  // namespace plumb::testing

TEST_SUITE_END();
