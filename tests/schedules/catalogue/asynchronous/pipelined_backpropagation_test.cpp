#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/unrolled.hpp"
#include "tests/support/versions_read.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule fused(std::int32_t p, std::int64_t m, std::int64_t updates) {
  return generate("pipelined-backpropagation", {.num_devices = p, .num_microbatches = m, .updates = updates});
}

}  // namespace

TEST_CASE("in step k + s stage s runs forward k, in step k + 2(p - 1) - s its backward, both at once where they meet") {
  for (const std::int64_t p : {1, 2, 3, 5}) {
    for (const std::int64_t m : {1, 2, 3}) {
      const Schedule schedule = fused(static_cast<std::int32_t>(p), m, 7);
      const std::int64_t all = 7 * m;
      for (std::int64_t s = 0; s < p; ++s) {
        CAPTURE(p);
        CAPTURE(m);
        CAPTURE(s);
        std::string expected;
        for (std::int64_t step = 0; step < all + 2 * (p - 1); ++step) {
          const std::int64_t f = step - s;
          const std::int64_t b = step - 2 * (p - 1) + s;
          const bool forward = f >= 0 && f < all;
          const bool backward = b >= 0 && b < all;
          const std::string f_text = std::to_string(s) + "F" + std::to_string(f);
          const std::string b_text = std::to_string(s) + "B" + std::to_string(b);
          const bool pair = forward && backward && f != b;
          if (pair) expected += " (" + f_text + ";" + b_text + ")OVERLAP_F_B";
          if (forward && !pair) expected += " " + f_text;
          if (backward && !pair) expected += " " + b_text;
          if (backward && (b + 1) % m == 0) expected += " " + std::to_string(s) + "U" + std::to_string(b / m);
        }
        Schedule one = schedule;
        one.devices = {schedule.devices[static_cast<std::size_t>(s)]};
        CHECK(lists_to_text(one) == "d0:" + expected + "\n");
      }
    }
  }
}

TEST_CASE(
    "a forward of pb reads weights 2(p - 1 - s) updates old at m = 1, the last stage none; a backward the newest") {
  for (const std::int64_t p : {1, 2, 4, 6}) {
    for (const std::int64_t m : {1, 2, 3}) {
      const VersionsRead reads = versions_read(fused(static_cast<std::int32_t>(p), m, 4 * p + 3));
      for (const auto& [key, version] : reads.forward) {
        CHECK(version == newest_at_forward(key.first, 2 * (p - 1 - key.second), m));
        CHECK(reads.backward.at(key) == key.first / m);
      }
    }
  }
}

TEST_CASE(
    "pb keeps one version and 2(p - 1 - s) + 1 activations; with weights=stash 2(p - 1 - s) + 1 versions as well") {
  ScheduleParams params{.num_devices = 4, .num_microbatches = 1, .updates = 20};
  CHECK(most_versions(generate("pipelined-backpropagation", params)) == std::vector<std::int64_t>{1, 1, 1, 1});
  CHECK(peak_stashes(generate("pipelined-backpropagation", params)) == std::vector<std::int64_t>{7, 5, 3, 1});
  params.options = {{"weights", "stash"}};
  const Schedule stash = generate("pipelined-backpropagation", params);
  CHECK(most_versions(stash) == std::vector<std::int64_t>{7, 5, 3, 1});
  const VersionsRead reads = versions_read(stash);
  CHECK(reads.forward == reads.backward);
}

TEST_CASE("pb with timing=1f1b has the lists of pipedream") {
  ScheduleParams params{.num_devices = 4, .num_microbatches = 2, .updates = 5};
  const Schedule pipedream = generate("pipedream", params);
  params.options = {{"timing", "1f1b"}};
  CHECK(generate("pipelined-backpropagation", params).devices == pipedream.devices);
}

TEST_CASE("every further microbatch of pb takes one forward and one backward") {
  const auto makespan = [](std::int64_t updates) { return replay(fused(5, 1, updates), {}).makespan; };
  CHECK(makespan(21) - makespan(20) == 3);
  CHECK(makespan(1) == 5 * (1 + 2));
}

TEST_CASE("the picture of pipelined-backpropagation is the one in tests/golden") {
  const std::string actual = picture(fused(3, 1, 7), {.f = 1, .b = 1});
  CHECK(actual == golden("schedules/pipelined_backpropagation.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
