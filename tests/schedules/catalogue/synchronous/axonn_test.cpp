#include <doctest/doctest.h>

#include <algorithm>

#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/registry.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/stage_list.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule axonn(std::int64_t p, std::int64_t m, std::map<std::string, std::string> options = {}) {
  return generate("axonn",
                  {.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m, .options = std::move(options)});
}

}  // namespace

TEST_CASE("axonn lists are those of the message driven run with B = 2 F") {
  const Schedule schedule = axonn(4, 8);
  CHECK(stage_list(schedule, 0) == "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7");
  CHECK(stage_list(schedule, 1) == "F0 F1 F2 F3 B0 B1 F4 B2 F5 B3 F6 B4 F7 B5 B6 B7");
  CHECK(stage_list(schedule, 2) == "F0 F1 F2 F3 B0 B1 B2 F4 B3 F5 B4 F6 B5 F7 B6 B7");
  CHECK(stage_list(schedule, 3) == "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7");
}

TEST_CASE("on up to four devices, and while all microbatches are let in at once, axonn takes as long as 1f1b") {
  const auto makespan = [](std::int64_t p, std::int64_t m) { return replay(axonn(p, m), {.f = 1, .b = 2}).makespan; };
  for (const std::int64_t p : {1, 2, 3, 4}) {
    for (const std::int64_t m : {1, 2, 4, 8, 13, 16}) {
      CAPTURE(p);
      CAPTURE(m);
      CHECK(makespan(p, m) == 3 * (m + p - 1));
    }
  }
  for (const std::int64_t m : {1, 3, 8}) CHECK(makespan(8, m) == 3 * (m + 7));
}

TEST_CASE("on many devices forwards of axonn that arrive first hold a gradient up") {
  CHECK(replay(axonn(8, 13), {.f = 1, .b = 2}).makespan > 3 * (13 + 7));
}

TEST_CASE("no device of axonn keeps more activations than microbatches were let in") {
  CHECK(peak_stashes(axonn(4, 8)) == std::vector<std::int64_t>{4, 4, 4, 1});
  for (const std::int64_t limit : {1, 2, 6}) {
    const auto peaks = peak_stashes(axonn(4, 12, {{"limit", std::to_string(limit)}}));
    CHECK(*std::max_element(peaks.begin(), peaks.end()) == limit);
  }
}

TEST_CASE("slow messages give axonn another order") {
  const auto costs = [](std::int32_t stages) { return abstract_costs("F=1,B=2,comm=1", "", {.num_stages = stages}); };
  const Schedule slow = generate("axonn", {.num_devices = 4, .num_microbatches = 8, .costs = costs});
  CHECK(slow.devices != axonn(4, 8).devices);
}

TEST_CASE("the picture of axonn is the one in tests/golden") {
  const std::string actual = picture(axonn(4, 8), {});
  CHECK(actual == golden("schedules/axonn.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
