#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/catalogue/registry.hpp"
#include "schedules/versions/delays.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/unrolled.hpp"
#include "tests/support/versions_read.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule accumulated(std::int64_t p, std::int64_t m, std::int64_t updates, const std::string& rule = "acco") {
  return generate("acco", {.num_devices = static_cast<std::int32_t>(p),
                           .num_microbatches = m,
                           .updates = updates,
                           .options = {{"rule", rule}}});
}

}  // namespace

TEST_CASE("a worker of acco runs a half between the reduction of the half before and its update") {
  for (const std::int64_t p : {2, 3, 5}) {
    for (const std::int64_t passes : {1, 2, 4}) {
      for (const std::int64_t updates : {1, 2, 3, 6}) {
        CAPTURE(p);
        CAPTURE(passes);
        CAPTURE(updates);
        const Schedule schedule = accumulated(p, p * passes, updates);
        for (std::int64_t worker = 0; worker < p; ++worker) {
          std::string expected;
          for (std::int64_t half = 0; half < updates; ++half) {
            for (std::int64_t k = 0; k < passes; ++k) {
              const std::string number = std::to_string((half * passes + k) * p + worker);
              expected.append(expected.empty() ? "0F" : " 0F").append(number).append(" 0B").append(number);
            }
            if (half > 0) expected += " 0U" + std::to_string(half - 1);
            expected += " 0REDUCE_GRAD";
          }
          CHECK(list_text(schedule, worker) == expected + " 0U" + std::to_string(updates - 1));
        }
      }
    }
  }
}

TEST_CASE("acco names the rule that a request breaks") {
  const auto refused = [](std::int64_t p, std::int64_t m) { return error_message([&] { accumulated(p, m, 2); }); };
  CHECK(refused(1, 1) == "acco: num_devices (1) must be at least 2");
  CHECK(refused(4, 6) == "acco: num_microbatches (6) must be a multiple of num_devices (4)");
  CHECK(error_message([] { accumulated(2, 2, 2, "zero"); }) == "acco: option rule: expected acco or dpu, found 'zero'");
}

TEST_CASE("halves of acco read the weights that were there a half before, and no older copy is kept") {
  const Schedule schedule = accumulated(3, 6, 4);
  const VersionsRead reads = versions_read(schedule);
  for (std::int64_t microbatch = 0; microbatch < schedule.num_microbatches; ++microbatch) {
    const std::int64_t half = microbatch / 6;
    CHECK(reads.forward.at({microbatch, 0}) == (half == 0 ? 0 : half - 1));
    CHECK(reads.backward.at({microbatch, 0}) == reads.forward.at({microbatch, 0}));
  }
  CHECK(most_versions(schedule) == std::vector<std::int64_t>{1, 1, 1});
}

TEST_CASE(
    "every gradient of acco and of delayed parameter updates is applied one version after the one it was made with") {
  for (const std::string rule : {"acco", "dpu"}) {
    const Schedule schedule = accumulated(3, 6, 6, rule);
    for (const StageDelays& delays : stage_delays(schedule, lowered(schedule))) {
      CHECK(mean_delay(delays.forward) == 1);
      CHECK(mean_delay(delays.backward) == 1);
    }
  }
}

TEST_CASE("gradients that wait for their update while the next ones begin are a second block") {
  const auto blocks = [](const Schedule& schedule) { return lowered(schedule).holders.front().gradient_blocks; };
  CHECK(blocks(accumulated(2, 4, 2)) == 2);
  CHECK(blocks(accumulated(2, 4, 1)) == 1);
  const auto cyclic = [](std::int64_t m) {
    return generate("cyclic-dp", {.num_devices = 2, .num_microbatches = m, .updates = 3});
  };
  CHECK(blocks(cyclic(2)) == 1);
  CHECK(blocks(cyclic(4)) == 2);
  CHECK(blocks(generate("pipedream-2bw", {.num_devices = 4, .num_microbatches = 4, .updates = 3})) == 1);
}

TEST_CASE("the picture of acco is the one in tests/golden") {
  const std::string actual = picture(accumulated(2, 4, 4), {.f = 1, .b = 2});
  CHECK(actual == golden("schedules/acco.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
