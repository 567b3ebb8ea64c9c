#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule dapple(std::int64_t p, std::int64_t m, std::map<std::string, std::string> options) {
  return generate("dapple", {.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m, .options = options});
}

}  // namespace

TEST_CASE("dapple warms up by its policy, then takes a backward whenever it can") {
  for (const bool b : {false, true}) {
    for (const std::int64_t p : {1, 2, 4, 7}) {
      for (const std::int64_t m : {1, 2, 3, 8, 20}) {
        const Schedule schedule = dapple(p, m, {{"policy", b ? "b" : "a"}});
        for (std::int64_t d = 0; d < p; ++d) {
          CAPTURE(b);
          CAPTURE(p);
          CAPTURE(m);
          CAPTURE(d);
          Unrolled list;
          std::int64_t f = 0;
          for (; f < std::min(b ? 2 * (p - d) - 1 : p - d, m); ++f) list.add(d, "F", f);
          for (std::int64_t k = 0; k < m; ++k) {
            list.add(d, "B", k);
            if (f < m) list.add(d, "F", f++);
          }
          list.add(d, "U", 0);
          CHECK(list_text(schedule, d) == list.text());
        }
      }
    }
  }
}

TEST_CASE("both policies take (m + p - 1)(F + B); device d keeps min(p - d, m) or min(2(p - d) - 1, m)") {
  for (const std::int64_t p : {1, 2, 3, 4, 8}) {
    for (const std::int64_t m : {1, 2, 4, 7, 16}) {
      CAPTURE(p);
      CAPTURE(m);
      std::vector<std::int64_t> few;
      std::vector<std::int64_t> many;
      for (std::int64_t d = 0; d < p; ++d) {
        few.push_back(std::min(p - d, m));
        many.push_back(std::min(2 * (p - d) - 1, m));
      }
      CHECK(peak_stashes(dapple(p, m, {})) == few);
      CHECK(peak_stashes(dapple(p, m, {{"policy", "b"}})) == many);
      CHECK(replay(dapple(p, m, {}), {.f = 1, .b = 2}).makespan == (m + p - 1) * 3);
      CHECK(replay(dapple(p, m, {{"policy", "b"}}), {.f = 1, .b = 2}).makespan == (m + p - 1) * 3);
    }
  }
}

TEST_CASE("limit=K keeps every device of dapple at K activations; by policy a it costs time where K is less than p") {
  for (const char* policy : {"a", "b"}) {
    for (std::int64_t limit = 1; limit <= 8; ++limit) {
      CAPTURE(policy);
      CAPTURE(limit);
      const Schedule schedule = dapple(4, 12, {{"policy", policy}, {"limit", std::to_string(limit)}});
      const auto peaks = peak_stashes(schedule);
      CHECK(*std::max_element(peaks.begin(), peaks.end()) == std::min<std::int64_t>(limit, *policy == 'a' ? 4 : 7));
      if (*policy == 'a') CHECK((replay(schedule, {.f = 1, .b = 2}).makespan == 45) == (limit >= 4));
    }
  }
  CHECK(replay(dapple(4, 12, {{"limit", "1"}}), {.f = 1, .b = 2}).makespan == 12 * 12);
}

TEST_CASE("dapple that recomputes in the backward takes (m + p - 1)(F + R + B)") {
  for (const char* policy : {"a", "b"}) {
    for (const std::int64_t m : {1, 4, 9}) {
      CAPTURE(policy);
      CAPTURE(m);
      const Schedule schedule = dapple(4, m, {{"policy", policy}, {"recompute", "always"}});
      CHECK(schedule.recompute.size() == 1);
      CHECK(replay(schedule, {.f = 1, .b = 2, .r = 1}).makespan == (m + 3) * 4);
    }
  }
}

TEST_CASE("dapple over replicated stages: any shares of the devices run, in turn, with a window per device") {
  const Schedule small = dapple(3, 4, {{"replicas", "2-1"}});
  CHECK(list_text(small, 0) == "0F0 0F2 0B0 0B2 0REDUCE_GRAD 0U0");
  CHECK(list_text(small, 1) == "0F1 0F3 0B1 0B3 0REDUCE_GRAD 0U0");
  CHECK(list_text(small, 2) == "1F0 1B0 1F1 1B1 1F2 1B2 1F3 1B3 1U0");
  for (const char* replicas : {"4", "1-3", "3-1", "2-2", "1-1-2", "1-2-1", "2-1-1", "1-1-1-1"}) {
    for (const std::int64_t m : {4, 5, 7, 12}) {
      CAPTURE(replicas);
      CAPTURE(m);
      const Schedule schedule = dapple(4, m, {{"replicas", replicas}});
      CHECK(validate(schedule).empty());
      const auto& stages = schedule.placement[0];
      // The stage with the most work per device is never kept waiting but while the pipeline fills and drains.
      std::int64_t slowest = 0;
      for (const auto& holders : stages) {
        const auto r = std::ssize(holders);
        slowest = std::max(slowest, (m + r - 1) / r);
      }
      CHECK(replay(schedule, {.f = 1, .b = 1}).makespan <= 2 * (slowest + std::ssize(stages) - 1));
    }
  }
  const Schedule two =
      generate("dapple", {.num_devices = 3, .num_microbatches = 4, .updates = 2, .options = {{"replicas", "2-1"}}});
  CHECK(validate(two).empty());
  CHECK(error_message([] {
          dapple(3, 4, {{"replicas", "2-2"}});
        }) == "dapple: option replicas: expected the devices of each stage, as 2-1-1, 3 together, found '2-2'");
  CHECK(error_message([] {
          dapple(3, 1, {{"replicas", "2-1"}});
        }).find("at least the devices of every stage (2)") != std::string::npos);
}

TEST_CASE("dapple over replicated stages with limits runs to its end, and no device keeps more than its stage may") {
  for (const char* replicas : {"4-1-1", "1-4-1", "1-1-4", "2-3-1", "3-1-2", "1-3-2"}) {
    for (const std::string limit : {"1", "2", "1-3-2", "3-1-2", "2-2-1", "1-1-6", "6-5-1", "2-6-6"}) {
      CAPTURE(replicas);
      CAPTURE(limit);
      const Schedule schedule = dapple(6, 13, {{"replicas", replicas}, {"limit", limit}});
      CHECK(validate(schedule).empty());
      const std::vector<std::int64_t> peaks = peak_stashes(schedule);
      const std::vector<std::int64_t> free = peak_stashes(dapple(6, 13, {{"replicas", replicas}}));
      for (std::size_t s = 0; s < 3; ++s) {
        const std::int64_t most = limit.size() == 1 ? limit[0] - '0' : limit[2 * s] - '0';
        for (const DeviceId holder : schedule.placement[0][s]) {
          CHECK(peaks[index(holder)] <= std::min(most, free[index(holder)]));
        }
      }
    }
  }
  CHECK(peak_stashes(dapple(4, 8, {{"replicas", "1-2-1"}, {"limit", "9"}})) ==
        peak_stashes(dapple(4, 8, {{"replicas", "1-2-1"}})));
  CHECK(error_message([] {
          dapple(3, 4, {{"replicas", "2-1"}, {"limit", "1-2-3"}});
        }) == "dapple: option limit: expected a number from 1 or one for each of 2 stages, as 1-3-2, found '1-2-3'");
}

TEST_CASE("dapple names the rule that a request breaks") {
  CHECK(error_message([] { dapple(4, 8, {{"policy", "c"}}); }) == "dapple: option policy: expected a or b, found 'c'");
  CHECK(error_message([] {
          dapple(4, 8, {{"limit", "0"}});
        }) == "dapple: option limit: expected a whole number of at least 1, found '0'");
}

TEST_CASE("the picture of dapple is the one in tests/golden") {
  const std::string actual =
      picture(generate("dapple", {.num_devices = 4, .num_microbatches = 8, .options = {{"policy", "b"}}}), {});
  CHECK(actual == golden("schedules/dapple.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
