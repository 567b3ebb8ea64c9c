#include <doctest/doctest.h>

#include <tuple>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {

TEST_CASE("gpipe runs all forwards, then all backwards from the last") {
  for (const std::int64_t p : {1, 2, 4}) {
    for (const std::int64_t m : {1, 2, 5, 9}) {
      const Schedule schedule =
          generate("gpipe", {.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m, .updates = 2});
      for (std::int64_t d = 0; d < p; ++d) {
        CAPTURE(p);
        CAPTURE(m);
        CAPTURE(d);
        Unrolled list;
        for (std::int64_t update = 0; update < 2; ++update) {
          for (std::int64_t k = 0; k < m; ++k) list.add(d, "F", update * m + k);
          for (std::int64_t k = m; k-- > 0;) list.add(d, "B", update * m + k);
          list.add(d, "U", update);
        }
        CHECK(list_text(schedule, d) == list.text());
      }
    }
  }
}

TEST_CASE("gpipe with order=fifo runs the backwards from the first") {
  const Schedule schedule =
      generate("gpipe", {.num_devices = 2, .num_microbatches = 6, .options = {{"order", "fifo"}}});
  CHECK(list_text(schedule, 1) == "1F0 1F1 1F2 1F3 1F4 1F5 1B0 1B1 1B2 1B3 1B4 1B5 1U0");
}

TEST_CASE("gpipe takes (m + p - 1)(F + B) and keeps all m activations, in either order") {
  for (const std::string order : {"reverse", "fifo"}) {
    for (const std::int32_t p : {1, 2, 3, 4, 8}) {
      for (const std::int64_t m : {1, 2, 4, 7, 16}) {
        CAPTURE(order);
        CAPTURE(p);
        CAPTURE(m);
        const Schedule schedule =
            generate("gpipe", {.num_devices = p, .num_microbatches = m, .options = {{"order", order}}});
        CHECK(replay(schedule, {.f = 1, .b = 2}).makespan == (m + p - 1) * 3);
        CHECK(peak_stashes(schedule) == std::vector<std::int64_t>(static_cast<std::size_t>(p), m));
      }
    }
  }
}

TEST_CASE("recompute in gpipe takes the known times: in the backward, ahead of the gradient, not for the last") {
  const auto makespan = [](const char* recompute, std::int64_t m) {
    const ScheduleParams params{.num_devices = 4, .num_microbatches = m, .options = {{"recompute", recompute}}};
    return replay(generate("gpipe", params), {.f = 1, .b = 2, .r = 1}).makespan;
  };
  for (const auto& [m, always, early, except_last] : {std::tuple{4, 28, 25, 24}, {8, 44, 41, 40}, {16, 76, 73, 72}}) {
    CAPTURE(m);
    CHECK(makespan("always", m) == always);
    CHECK(makespan("early", m) == early);
    CHECK(makespan("early-except-last", m) == except_last);
    CHECK(makespan("except-last", m) == always - 1);
  }
}

TEST_CASE("gpipe keeps the last microbatch, whichever end the backwards start from") {
  const auto list = [](const char* order) {
    const ScheduleParams params{
        .num_devices = 2, .num_microbatches = 3, .options = {{"order", order}, {"recompute", "early-except-last"}}};
    return list_text(generate("gpipe", params), 0);
  };
  CHECK(list("reverse") == "0F0 0F1 0F2 0B2 0R1 0B1 0R0 0B0 0U0");
  CHECK(list("fifo") == "0F0 0F1 0F2 0R0 0B0 0R1 0B1 0B2 0U0");
}

TEST_CASE("the picture of gpipe is the one in tests/golden") {
  const std::string actual = picture(generate("gpipe", {.num_devices = 4, .num_microbatches = 4}), {});
  CHECK(actual == golden("schedules/gpipe.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
