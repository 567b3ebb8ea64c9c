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

Schedule averaged(std::int32_t p, std::int64_t m, std::int64_t updates, std::int64_t pipelines = 2,
                  const std::string& warmup = "advance") {
  return generate("avgpipe", {.num_devices = p,
                              .num_microbatches = m,
                              .updates = updates,
                              .options = {{"pipelines", std::to_string(pipelines)}, {"warmup", warmup}}});
}

template <class Check>
void for_each_case(const Check& check) {
  for (const std::int64_t p : {1, 2, 3, 5}) {
    for (const std::int64_t pipelines : {1, 2, 3}) {
      for (const std::int64_t batch : {1, 2, 3, 6}) {
        for (const std::string warmup : {"advance", "1f1b"}) {
          CAPTURE(p);
          CAPTURE(pipelines);
          CAPTURE(batch);
          CAPTURE(warmup);
          check(p, pipelines, batch, warmup);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("avgpipe alternates across its pipelines, and no forward of a pipeline stands before its update") {
  for_each_case([](std::int64_t p, std::int64_t pipelines, std::int64_t batch, const std::string& warmup) {
    for (const std::int64_t updates : {1, 2, 4}) {
      const Schedule schedule = averaged(static_cast<std::int32_t>(p), pipelines * batch, updates, pipelines, warmup);
      const std::int64_t all = updates * pipelines * batch;
      for (std::int64_t d = 0; d < p; ++d) {
        const std::int64_t ahead = (warmup == "advance" ? 2 : 1) * (p - 1 - d);
        std::string expected;
        const auto add = [&](const char* op, std::int64_t microbatch, std::int64_t number) {
          const std::int64_t pipeline = microbatch / batch % pipelines;
          expected += (expected.empty() ? "" : " ") + (pipeline > 0 ? std::to_string(pipeline) + ":" : "") +
                      std::to_string(d) + op + std::to_string(number);
        };
        std::int64_t f = 0;
        std::vector<std::int64_t> updated(static_cast<std::size_t>(pipelines), 0);
        for (std::int64_t b = 0; b < all; ++b) {
          const auto open = [&] {
            const std::int64_t before = f / (pipelines * batch);  // updates of its pipeline that f's batch waits for
            return updated[static_cast<std::size_t>(f / batch % pipelines)] == before;
          };
          while (f < all && f <= b + ahead && open()) {
            add("F", f, f);
            ++f;
          }
          add("B", b, b);
          if ((b + 1) % batch != 0) continue;
          add("U", b, b / (pipelines * batch));
          ++updated[static_cast<std::size_t>(b / batch % pipelines)];
        }
        CHECK(list_text(schedule, d) == expected);
      }
    }
  });
}

TEST_CASE("forward and backward of avgpipe read one version, that of their pipeline's last update") {
  for_each_case([](std::int64_t p, std::int64_t pipelines, std::int64_t batch, const std::string& warmup) {
    const Schedule schedule = averaged(static_cast<std::int32_t>(p), pipelines * batch, 4, pipelines, warmup);
    const VersionsRead reads = versions_read(schedule);
    CHECK(reads.forward == reads.backward);
    for (const auto& [key, version] : reads.forward) CHECK(version == key.first / (pipelines * batch));
  });
}

TEST_CASE("two pipelines of avgpipe leave no idle time once batches are as long as the warm-up") {
  const auto further = [](std::int64_t p, std::int64_t batch, std::int64_t pipelines) {
    const auto makespan = [&](std::int64_t updates) {
      const Schedule schedule = averaged(static_cast<std::int32_t>(p), pipelines * batch, updates, pipelines, "1f1b");
      return replay(schedule, {.f = 1, .b = 2}).makespan;
    };
    return makespan(9) - makespan(8);
  };
  for (const std::int64_t p : {2, 4, 6}) {
    for (const std::int64_t batch : {p - 1, p, 2 * p}) {
      CHECK(further(p, batch, 2) == 2 * batch * 3);
      CHECK(further(p, batch, 1) == (batch + p - 1) * 3);  // one pipeline is 1f1b with its flush
    }
  }
}

TEST_CASE("advance propagation of avgpipe runs 7, 5, 3, 1 forwards before the first backward of four devices") {
  const Schedule schedule = averaged(4, 16, 2);
  std::vector<std::int64_t> forwards;
  for (const DeviceList& list : schedule.devices) {
    const std::vector<Action> actions = expand(list);
    const auto is_backward_of = [](const Action& action) { return action.op == Op::kB; };
    forwards.push_back(std::find_if(actions.begin(), actions.end(), is_backward_of) - actions.begin());
  }
  CHECK(forwards == std::vector<std::int64_t>{7, 5, 3, 1});
  CHECK(peak_stashes(schedule) == std::vector<std::int64_t>{7, 5, 3, 1});
}

TEST_CASE("avgpipe's copies of the model stay apart: nothing is reduced") {
  const Schedule schedule = averaged(2, 4, 2);
  CHECK(lowered(schedule).collectives.empty());
  CHECK(lowered(schedule).holders.size() == 4);
}

TEST_CASE("the picture of avgpipe is the one in tests/golden") {
  const std::string actual = picture(averaged(3, 6, 2, 2, "1f1b"), {});
  CHECK(actual == golden("schedules/avgpipe.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
