#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule chimera(std::int64_t p, std::int64_t m, std::int64_t f, const char* scaling = "direct") {
  return generate("chimera", {.num_devices = static_cast<std::int32_t>(p),
                              .num_microbatches = m,
                              .options = {{"pipelines", std::to_string(f)}, {"scaling", scaling}}});
}

/// Of one microbatch's forward as 1 and backward as 2.
double makespan(const Schedule& schedule) {
  const double halves = schedule.slices ? 2 : 1;  // replay's unit is then one slice
  return static_cast<double>(replay(schedule, {.f = 1, .b = 2}).makespan) / halves;
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

TEST_CASE("each copy of a stage reduces right after its last backward and updates at the end") {
  CHECK(list_text(chimera(2, 4, 1), 0) ==
        "0F0 1:1F1 1:1B1 0B0 0F2 1:1F3 1:1B3 1:1REDUCE_GRAD 0B2 0REDUCE_GRAD 0U0 1:1U0");
}

TEST_CASE("with two microbatches in a forward, or half of one in a backward, nothing waits between the units") {
  for (const auto& [p, f] :
       {std::pair{2, 1}, std::pair{4, 1}, std::pair{8, 1}, std::pair{16, 1}, std::pair{8, 2}, std::pair{8, 4}}) {
    for (const std::int64_t units : {1, 2, 3, 5}) {
      CAPTURE(p);
      CAPTURE(f);
      CAPTURE(units);
      const std::int64_t m = 2 * p * units;
      const std::int64_t bubble = p / f - 2;
      CHECK(makespan(chimera(p, m, f, "doubling")) == 3 * m + 2 * bubble);
      CHECK(makespan(chimera(p, m, f, "halving")) == 3 * m + bubble);
    }
  }
}

TEST_CASE("chimera has the known times for B = 2F: direct, doubling, halving") {
  for (const auto& [p, m, direct, doubling, halving] : {std::tuple{4, 8, 30, 28, 26},
                                                        {4, 16, 58, 52, 50},
                                                        {8, 16, 66, 60, 54},
                                                        {8, 32, 126, 108, 102},
                                                        {16, 32, 138, 124, 110}}) {
    CAPTURE(p);
    CAPTURE(m);
    CHECK(makespan(chimera(p, m, 1)) == direct);
    CHECK(makespan(chimera(p, m, 1, "doubling")) == doubling);
    CHECK(makespan(chimera(p, m, 1, "halving")) == halving);
  }
}

TEST_CASE("doubling keeps up to 2p microbatches, halving p") {
  CHECK(peak_stashes(chimera(4, 8, 1, "doubling")) == std::vector<std::int64_t>{7, 8, 8, 7});
  CHECK(peak_stashes(chimera(4, 8, 1, "halving")) == std::vector<std::int64_t>{7, 8, 8, 7});  // of halves
  for (const std::int64_t p : {4, 8, 16}) {
    CAPTURE(p);
    const auto doubled = peak_stashes(chimera(p, 8 * p, 1, "doubling"));
    CHECK(*std::max_element(doubled.begin(), doubled.end()) <= 2 * p);
    const auto halves = peak_stashes(chimera(p, 4 * p, 1, "halving"));
    CHECK(*std::min_element(halves.begin(), halves.end()) * 2 == 3 * p + 2);
    CHECK(*std::max_element(halves.begin(), halves.end()) == 2 * p);
  }
}

TEST_CASE("the list of chimera with doubled forwards is the one that its slots give") {
  const Schedule schedule = chimera(4, 8, 1, "doubling");
  CHECK(list_text(schedule, 0) ==
        "0F0+1 0F2+3 1:3F4+5 1:3B4 1:3F6+7 1:3B6 0B0 1:3B5 0B2 1:3B7 1:3REDUCE_GRAD 0B1 0B3 0REDUCE_GRAD 0U0 1:3U0");
  CHECK(list_text(schedule, 1) ==
        "1F0+1 1:2F4+5 1F2+3 1:2F6+7 1:2B4 1B0 1:2B6 1B2 1:2B5 1B1 1:2B7 1:2REDUCE_GRAD 1B3 1REDUCE_GRAD 1U0 1:2U0");
}

TEST_CASE("every number of microbatches works: the last unit is smaller, and pipelines without work still reduce") {
  for (const char* scaling : {"direct", "doubling", "halving"}) {
    for (const auto& [p, f] : {std::pair{2, 1}, std::pair{4, 1}, std::pair{4, 2}, std::pair{8, 2}}) {
      for (std::int64_t m = 1; m <= 5 * p; ++m) {
        CAPTURE(scaling);
        CAPTURE(p);
        CAPTURE(f);
        CAPTURE(m);
        const Schedule schedule = chimera(p, m, f, scaling);
        CHECK(validate(schedule).empty());
        const auto peaks = peak_stashes(schedule);
        CHECK(*std::max_element(peaks.begin(), peaks.end()) <= (*scaling == 'd' && scaling[1] == 'i' ? p : 2 * p));
        for (std::int64_t d = 0; d < p; ++d) {
          const std::string text = list_text(schedule, d);
          std::int64_t reductions = 0;
          for (std::size_t at = text.find("REDUCE"); at != std::string::npos; at = text.find("REDUCE", at + 1)) {
            ++reductions;
          }
          CHECK(reductions == 2 * f);
        }
      }
    }
  }
}

TEST_CASE("a single microbatch goes down only") {
  CHECK(list_text(chimera(2, 1, 1), 0) == "0F0 0B0 0REDUCE_GRAD 1:1REDUCE_GRAD 0U0 1:1U0");
  CHECK(makespan(chimera(4, 1, 1)) == 12);
}

TEST_CASE("with eager-opt only the copies whose device waits later on reduce at once") {
  const auto list = [](const char* sync, std::int64_t device) {
    const Schedule schedule =
        generate("chimera", {.num_devices = 4, .num_microbatches = 4, .options = {{"sync", sync}}});
    const std::string text = list_text(schedule, device);
    return text.substr(text.find("B"));
  };
  CHECK(list("eager-opt", 0) == "B2 1:3F3 1:3B3 1:3REDUCE_GRAD 0B0 0B1 0REDUCE_GRAD 0U0 1:3U0");
  CHECK(list("eager", 1) == "B2 1B0 1:2B3 1:2REDUCE_GRAD 1B1 1REDUCE_GRAD 1U0 1:2U0");
  CHECK(list("eager-opt", 1) == "B2 1B0 1:2B3 1B1 1REDUCE_GRAD 1:2REDUCE_GRAD 1U0 1:2U0");
  CHECK(list("end", 0) == "B2 1:3F3 1:3B3 0B0 0B1 0REDUCE_GRAD 1:3REDUCE_GRAD 0U0 1:3U0");
}

TEST_CASE("chimera names the rule that a request breaks") {
  const auto message = [](std::int64_t p, std::int64_t m, std::int64_t f) {
    return error_message([&] { chimera(p, m, f); });
  };
  CHECK(message(3, 3, 1) == "chimera: num_devices (3) must be even");
  CHECK(message(8, 8, 3) == "chimera: pipelines (3) must divide num_devices / 2 (4)");
  CHECK(message(2048, 2048, 1) == "chimera: num_devices (2048) must be at most 1024");
}

TEST_CASE("the picture of chimera is the one in tests/golden") {
  const std::string actual = picture(chimera(4, 4, 1), {});
  CHECK(actual == golden("schedules/chimera.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
