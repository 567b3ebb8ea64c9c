#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "schedules/registry.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule chimera(std::int64_t p, std::int64_t m, std::int64_t f) {
  return generate("chimera", {.num_devices = static_cast<std::int32_t>(p),
                              .num_microbatches = m,
                              .options = {{"pipelines", std::to_string(f)}}});
}

}  // namespace

TEST_CASE("forwards and backwards of chimera stand in the order of the paper's slots") {
  for (const auto& [p, f] : {std::pair{2, 1}, std::pair{4, 1}, std::pair{4, 2}, std::pair{6, 3}, std::pair{8, 2}}) {
    for (const std::int64_t units : {1, 2, 3, 7}) {
      CAPTURE(p);
      CAPTURE(f);
      CAPTURE(units);
      const Schedule schedule = chimera(p, units * p, f);
      const std::int64_t share = p / (2 * f);
      for (std::int64_t d = 0; d < p; ++d) {
        std::map<std::int64_t, std::string> slots;
        for (std::int64_t u = 0; u < units; ++u) {
          for (std::int64_t pipe = 0; pipe < 2 * f; ++pipe) {
            const std::int64_t shift = pipe % f * (p / f);
            const std::int64_t stage = ((pipe < f ? d - shift : p - 1 - d - shift) + 2 * p) % p;
            const std::string prefix = pipe > 0 ? std::to_string(pipe) + ":" : "";
            for (std::int64_t j = 0; j < share; ++j) {
              const std::string k = std::to_string(u * p + pipe * share + j);
              const std::int64_t start = 2 * p * u + 2 * j;
              CHECK(slots.emplace(start + stage, prefix + std::to_string(stage) + "F" + k).second);
              CHECK(slots.emplace(start + 2 * p - 1 - stage, prefix + std::to_string(stage) + "B" + k).second);
            }
          }
        }
        std::string expected;
        for (const auto& [slot, text] : slots) expected += text + " ";
        std::string actual;
        for (const Action& action : expand(schedule.devices[static_cast<std::size_t>(d)])) {
          if (action.op == Op::kF || action.op == Op::kB) actual += to_string(action) + " ";
        }
        CHECK(actual == expected);
      }
    }
  }
}

TEST_CASE("chimera takes the published times for B = F and B = 2F") {
  for (const auto& [p, f] :
       {std::pair{2, 1}, std::pair{4, 1}, std::pair{4, 2}, std::pair{8, 1}, std::pair{8, 2}, std::pair{8, 4}}) {
    for (const std::int64_t units : {1, 2, 4}) {
      CAPTURE(p);
      CAPTURE(f);
      CAPTURE(units);
      const std::int64_t m = units * p;
      const Schedule schedule = chimera(p, m, f);
      CHECK(replay(schedule, {.f = 1, .b = 1}).makespan == 2 * m + p / f - 2);
      CHECK(replay(schedule, {.f = 1, .b = 2}).makespan == 3 * m + (units + 1) * (p / f - 2));
    }
  }
}

TEST_CASE("with fewer microbatches than devices chimera takes m + 2p - 2 for B = F") {
  for (const std::int64_t p : {4, 6, 8}) {
    for (std::int64_t m = 2; m < p; m += 2) {
      CAPTURE(p);
      CAPTURE(m);
      CHECK(replay(chimera(p, m, 1), {.f = 1, .b = 1}).makespan == m + 2 * p - 2);
    }
  }
}

TEST_CASE("devices of chimera keep between p - p/(2f) + 1 and p activations") {
  for (const auto& [p, f] : {std::pair{4, 1}, std::pair{8, 1}, std::pair{8, 2}, std::pair{8, 4}}) {
    const auto peaks = peak_stashes(chimera(p, 3 * p, f));
    CHECK(*std::min_element(peaks.begin(), peaks.end()) == p - p / (2 * f) + 1);
    CHECK(*std::max_element(peaks.begin(), peaks.end()) == p);
  }
}

TEST_CASE("each copy of a stage reduces right behind its last backward and updates at the end") {
  CHECK(list_text(chimera(2, 4, 1), 0) ==
        "0F0 1:1F1 1:1B1 0B0 0F2 1:1F3 1:1B3 1:1REDUCE_GRAD 0B2 0REDUCE_GRAD 0U0 1:1U0");
}

TEST_CASE("chimera names the rule that a request breaks") {
  const auto message = [](std::int64_t p, std::int64_t m, std::int64_t f) {
    return error_message([&] { chimera(p, m, f); });
  };
  CHECK(message(3, 3, 1) == "chimera: num_devices (3) must be even");
  CHECK(message(8, 8, 3) == "chimera: pipelines (3) must divide num_devices / 2 (4)");
  CHECK(message(4, 6, 1) == "chimera: num_microbatches (6) must be less than num_devices (4) or a multiple of it");
  CHECK(message(4, 1, 1) == "chimera: num_microbatches (1) must be at least one for each of the 2 pipelines");
  CHECK(message(2048, 2048, 1) == "chimera: num_devices (2048) must be at most 1024");
}

TEST_CASE("the picture of chimera is the one in tests/golden") {
  const std::string actual = picture(chimera(4, 4, 1), {});
  CHECK(actual == golden("schedules/chimera.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
