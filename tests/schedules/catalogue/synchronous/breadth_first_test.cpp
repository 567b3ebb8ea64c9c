#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule breadth_first(std::int64_t p, std::int64_t m, std::int64_t v, std::map<std::string, std::string> options) {
  return generate("breadth-first", {.num_devices = static_cast<std::int32_t>(p),
                                    .num_microbatches = m,
                                    .chunks = static_cast<std::int32_t>(v),
                                    .options = options});
}

}  // namespace

TEST_CASE("breadth-first lists are Fast-LLM's: pass by pass, stage by stage, all microbatches of the pass") {
  for (const bool fifo : {true, false}) {
    for (const std::int64_t p : {1, 2, 3}) {
      for (const std::int64_t v : {1, 2, 4}) {
        for (const std::int64_t m : {1, 2, 5, 8, 13}) {
          for (std::int64_t passes = 1; passes <= m; ++passes) {
            const Schedule schedule =
                breadth_first(p, m, v, {{"passes", std::to_string(passes)}, {"order", fifo ? "fifo" : "reverse"}});
            for (std::int64_t d = 0; d < p; ++d) {
              CAPTURE(fifo);
              CAPTURE(p);
              CAPTURE(v);
              CAPTURE(m);
              CAPTURE(passes);
              CAPTURE(d);
              Unrolled list;
              for (std::int64_t pass = 0; pass < passes; ++pass) {
                for (std::int64_t c = 0; c < v; ++c) {
                  for (std::int64_t k = pass; k < m; k += passes) list.add(c * p + d, "F", k);
                }
                const std::int64_t last = pass + (m - 1 - pass) / passes * passes;
                for (std::int64_t c = v; c-- > 0;) {
                  for (std::int64_t k = pass; k < m; k += passes) {
                    list.add(c * p + d, "B", fifo ? k : last - (k - pass));
                  }
                }
              }
              for (std::int64_t c = 0; c < v; ++c) list.add(c * p + d, "U", 0);
              CHECK(list_text(schedule, d) == list.text());
            }
          }
        }
      }
    }
  }
}

TEST_CASE("breadth-first takes m(F + B) + (p - 1)(F + B)/v from m = p on, and keeps all activations") {
  for (const char* order : {"fifo", "reverse"}) {
    for (const std::int64_t p : {1, 2, 4}) {
      for (const std::int64_t v : {1, 2, 4}) {
        for (const std::int64_t m : {p, p + 1, 2 * p, 3 * p + 1}) {
          CAPTURE(order);
          CAPTURE(p);
          CAPTURE(v);
          CAPTURE(m);
          const Schedule schedule = breadth_first(p, m, v, {{"order", order}});
          CHECK(replay(schedule, {.f = 1, .b = 2}).makespan == 3 * (m * v + p - 1));
          CHECK(peak_stashes(schedule) == std::vector<std::int64_t>(static_cast<std::size_t>(p), m * v));
        }
      }
    }
  }
}

TEST_CASE("with D passes of m/D >= p microbatches, breadth-first keeps m/D of them and has D bubbles") {
  for (const std::int64_t passes : {1, 2, 4}) {
    CAPTURE(passes);
    const Schedule schedule = breadth_first(4, 16, 2, {{"passes", std::to_string(passes)}});
    CHECK(replay(schedule, {.f = 1, .b = 2}).makespan == 3 * (16 * 2 + passes * 3));
    CHECK(peak_stashes(schedule) == std::vector<std::int64_t>(4, 16 / passes * 2));
  }
}

TEST_CASE("a device of breadth-first changes chunks 2v - 2 times in a step") {
  for (const std::int64_t v : {2, 4}) {
    const Schedule schedule = breadth_first(4, 8 * v, v, {});
    for (const DeviceList& list : schedule.devices) {
      std::vector<StageId> runs;
      for (const Action& action : expand(list)) {
        if (action.op != Op::kU && (runs.empty() || runs.back() != action.stage)) runs.push_back(action.stage);
      }
      CHECK(std::ssize(runs) == 2 * v - 1);
    }
  }
}

TEST_CASE("breadth-first names the rule that a request breaks") {
  CHECK(error_message([] {
          breadth_first(4, 8, 2, {{"passes", "9"}});
        }) == "breadth-first: passes (9) must be at most num_microbatches (8)");
}

TEST_CASE("the picture of breadth-first is the one in tests/golden") {
  const std::string actual =
      picture(generate("breadth-first", {.num_devices = 2, .num_microbatches = 4, .chunks = 2}), {});
  CHECK(actual == golden("schedules/breadth_first.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
