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

Schedule alternating(std::int32_t p, std::int64_t each, std::int64_t updates) {
  return generate("amdp", {.num_devices = p, .num_microbatches = each * (p / 2), .updates = updates});
}

}  // namespace

TEST_CASE("pipeline j of amdp starts at device 2j and runs up or, for odd j, down, round the devices") {
  const Schedule schedule = alternating(6, 1, 1);
  std::vector<std::vector<std::int64_t>> devices;
  for (const auto& pipeline : schedule.placement) {
    devices.emplace_back();
    for (const auto& holders : pipeline) devices.back().push_back(static_cast<std::int64_t>(holders.front()));
  }
  CHECK(devices == std::vector<std::vector<std::int64_t>>{{0, 1, 2, 3, 4, 5}, {1, 0, 5, 4, 3, 2}, {4, 5, 0, 1, 2, 3}});
}

TEST_CASE("with equal passes amdp fills every slot from the first backward to the last forward") {
  for (const std::int32_t p : {2, 4, 6, 8}) {
    for (const std::int64_t each : {1, 2, 5}) {
      CAPTURE(p);
      CAPTURE(each);
      const auto makespan = [&](std::int64_t updates) {
        return replay(alternating(p, each, updates), {.f = 1, .b = 1}).makespan;
      };
      CHECK(makespan(1) == p * (each + 1));  // 2p slots of one microbatch, the next p later
      CHECK(makespan(7) - makespan(6) == p * each);
    }
  }
}

TEST_CASE(
    "one backward stands between a forward of amdp and its own on the first half of the stages, none on the rest") {
  for (const std::int32_t p : {2, 4, 8}) {
    const Schedule schedule = alternating(p, 6, 2);
    for (const DeviceList& list : schedule.devices) {
      const std::vector<Action> actions = expand(list);
      for (std::size_t f = 0; f < actions.size(); ++f) {
        if (actions[f].op != Op::kF || index(actions[f].microbatch) < static_cast<std::size_t>(p)) continue;
        std::int64_t between = 0;
        for (std::size_t at = f; actions[at].op != Op::kB || actions[at].microbatch != actions[f].microbatch; ++at) {
          const bool same = actions[at].stage == actions[f].stage && actions[at].replica == actions[f].replica;
          if (same && actions[at].op == Op::kB) ++between;
        }
        const auto stage = static_cast<std::int64_t>(actions[f].stage);
        CHECK(between == (stage < p / 2 ? 1 : 0));
        CHECK(between <= std::min<std::int64_t>(2, p - stage) - 1);  // published, for two admitted at once
      }
    }
  }
}

TEST_CASE("in an update of amdp only the first microbatch of each pipeline reads a newer version back, and by one") {
  for (const std::int64_t each : {1, 2, 4}) {
    const Schedule schedule = alternating(4, each, 5);
    const VersionsRead reads = versions_read(schedule);
    for (const auto& [key, version] : reads.forward) {
      const std::int64_t crossed = reads.backward.at(key) - version;
      const bool first = key.first % (2 * each) < 2 && key.first >= 2 * each;
      CHECK(crossed == (first && key.second < 2 ? 1 : 0));
    }
  }
}

TEST_CASE("a device of amdp keeps at most p activations and p / 2 stages of one version") {
  for (const std::int32_t p : {2, 4, 8}) {
    const Schedule schedule = alternating(p, 4, 3);
    for (const std::int64_t stashes : peak_stashes(schedule)) CHECK(stashes <= p);
    for (const std::int64_t versions : most_versions(schedule)) CHECK(versions == 1);
    std::vector<std::int64_t> held(static_cast<std::size_t>(p), 0);
    for (const Holder& holder : lowered(schedule).holders) ++held[index(holder.device)];
    CHECK(held == std::vector<std::int64_t>(static_cast<std::size_t>(p), p / 2));
  }
}

TEST_CASE("what amdp cannot do is refused with the rule") {
  CHECK(error_message([] { generate("amdp", {.num_devices = 3, .num_microbatches = 2}); }) ==
        "amdp: num_devices (3) must be even");
  CHECK(error_message([] { generate("amdp", {.num_devices = 8, .num_microbatches = 6}); }) ==
        "amdp: num_microbatches (6) must be a multiple of the pipelines (4)");
}

TEST_CASE("the picture of amdp is the one in tests/golden") {
  const std::string actual = picture(alternating(4, 2, 3), {.f = 1, .b = 1});
  CHECK(actual == golden("schedules/amdp.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
