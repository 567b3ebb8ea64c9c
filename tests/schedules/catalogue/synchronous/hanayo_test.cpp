#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule hanayo(std::int64_t p, std::int64_t m, std::int64_t waves) {
  return generate("hanayo", {.num_devices = static_cast<std::int32_t>(p),
                             .num_microbatches = m,
                             .chunks = static_cast<std::int32_t>(2 * waves)});
}

/// The same rule without events: time goes on tick by tick, and every idle device looks at everything there is.
std::vector<std::string> played_by_ticks(std::int64_t p, std::int64_t m, std::int64_t waves) {
  const std::int64_t stages = 2 * waves * p;
  struct Work {
    std::int64_t key, microbatch, stage;
    bool forward;
  };
  std::vector<std::string> lists(static_cast<std::size_t>(p));
  std::vector<std::int64_t> free_at(static_cast<std::size_t>(p), 0);
  std::map<std::tuple<bool, std::int64_t, std::int64_t>, std::int64_t> end;  // forward, stage, microbatch
  const auto done = [&](bool forward, std::int64_t stage, std::int64_t k, std::int64_t now) {
    const auto found = end.find({forward, stage, k});
    return found != end.end() && found->second <= now;
  };
  for (std::int64_t now = 0; std::ssize(end) < 2 * stages * m; ++now) {
    for (std::int64_t d = 0; d < p; ++d) {
      if (free_at[static_cast<std::size_t>(d)] > now) continue;
      std::vector<Work> all;
      std::int64_t inside = 0;
      for (std::int64_t k = 0; k < m; ++k) inside += end.contains({true, 0, k}) && !done(false, 0, k, now);
      for (std::int64_t s = 0; s < stages; ++s) {
        if ((s / p % 2 == 0 ? s % p : p - 1 - s % p) != d) continue;
        for (std::int64_t k = 0; k < m; ++k) {
          if (!end.contains({true, s, k}) && (s == 0 || done(true, s - 1, k, now))) {
            if (s == 0 && m > p && inside >= 2 * p) continue;
            all.push_back({m <= p ? 1 : s == 0 ? 2 : 0, k, s, true});
          }
          const bool turned = s + 1 == stages ? done(true, s, k, now) : done(false, s + 1, k, now);
          if (!end.contains({false, s, k}) && turned) all.push_back({m <= p ? 0 : 1, k, s, false});
        }
      }
      if (all.empty()) continue;
      const Work best = *std::min_element(all.begin(), all.end(), [](const Work& a, const Work& b) {
        return std::tuple(a.key, a.microbatch, -a.stage, !a.forward) <
               std::tuple(b.key, b.microbatch, -b.stage, !b.forward);
      });
      free_at[static_cast<std::size_t>(d)] = end[{best.forward, best.stage, best.microbatch}] =
          now + (best.forward ? 1 : 2);
      lists[static_cast<std::size_t>(d)] +=
          std::to_string(best.stage) + (best.forward ? "F" : "B") + std::to_string(best.microbatch) + " ";
    }
  }
  return lists;
}

}  // namespace

TEST_CASE("hanayo is what its devices choose, one tick after the other") {
  for (const std::int64_t p : {1, 2, 3, 4}) {
    for (const std::int64_t m : {1, 2, 3, 4, 8, 11}) {
      for (const std::int64_t waves : {1, 2}) {
        const auto expected = played_by_ticks(p, m, waves);
        const Schedule schedule = hanayo(p, m, waves);
        for (std::int64_t d = 0; d < p; ++d) {
          CAPTURE(p);
          CAPTURE(m);
          CAPTURE(waves);
          CAPTURE(d);
          std::string updates;
          for (std::int64_t c = 0; c < 2 * waves; ++c) {
            updates += (c > 0 ? " " : "") + std::to_string(c * p + (c % 2 == 0 ? d : p - 1 - d)) + "U0";
          }
          CHECK(list_text(schedule, d) == expected[static_cast<std::size_t>(d)] + updates);
        }
      }
    }
  }
}

TEST_CASE("hanayo has the makespans of its reconstruction for B = 2F") {
  for (const auto& [p, m, waves, makespan] : {std::tuple{4, 4, 1, 18.0},
                                              {4, 4, 2, 15.25},
                                              {4, 4, 4, 13.625},
                                              {8, 8, 1, 38.0},
                                              {8, 8, 2, 31.5},
                                              {8, 8, 4, 27.75},
                                              {4, 8, 1, 30.5},
                                              {4, 16, 1, 53.5},
                                              {4, 8, 2, 27.75},
                                              {8, 16, 1, 61.0},
                                              {8, 16, 2, 55.5}}) {
    CAPTURE(p);
    CAPTURE(m);
    CAPTURE(waves);
    const auto run = replay(hanayo(p, m, waves), {.f = 1, .b = 2});
    CHECK(static_cast<double>(run.makespan) / (2 * waves) == makespan);
  }
}

TEST_CASE("the bubble of hanayo for m = p is at most the paper's (2p - 2)/(3pW + p - 1), or within 0.2 % of it") {
  for (const std::int64_t p : {4, 8}) {
    for (const std::int64_t waves : {1, 2, 4}) {
      CAPTURE(p);
      CAPTURE(waves);
      const auto makespan = static_cast<double>(replay(hanayo(p, p, waves), {.f = 1, .b = 2}).makespan);
      const double bubble = 1 - static_cast<double>(3 * p * 2 * waves) / makespan;
      CHECK(bubble <= static_cast<double>(2 * p - 2) / static_cast<double>(3 * p * waves + p - 1) + 0.002);
    }
  }
}

TEST_CASE("no device of hanayo keeps more than p activations for m = p") {
  for (const std::int64_t p : {2, 4, 8}) {
    for (const std::int64_t waves : {1, 2, 4}) {
      CAPTURE(p);
      CAPTURE(waves);
      const auto peaks = peak_stashes(hanayo(p, p, waves));
      CHECK(*std::max_element(peaks.begin(), peaks.end()) == p * 2 * waves);
    }
  }
}

TEST_CASE("hanayo names the rule that a request breaks") {
  const auto message = [](std::int64_t m, std::int32_t v) {
    return error_message([&] { generate("hanayo", {.num_devices = 4, .num_microbatches = m, .chunks = v}); });
  };
  CHECK(message(4, 3) == "hanayo: chunks per device (3) must be even, two for each wave");
  CHECK(message(100'000'000, 2) == "hanayo: num_microbatches (100000000) must be at most 1048576 with 8 stages");
}

TEST_CASE("the picture of hanayo is the one in tests/golden") {
  const std::string actual = picture(generate("hanayo", {.num_devices = 4, .num_microbatches = 4}), {});
  CHECK(actual == golden("schedules/hanayo.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
