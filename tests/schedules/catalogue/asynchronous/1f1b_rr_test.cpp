#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <tuple>
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

Schedule replicated(const std::string& replicas, std::int32_t p, std::int64_t m = 1, std::int64_t updates = 6) {
  ScheduleParams params{.num_devices = p, .num_microbatches = m, .updates = updates};
  if (!replicas.empty()) params.options = {{"replicas", replicas}};
  return generate("1f1b-rr", params);
}

/// Forwards of a device before its first backward, less the one of its first turn.
std::vector<std::int64_t> warmups(const Schedule& schedule) {
  std::vector<std::int64_t> counts;
  for (const auto& holders : schedule.placement[0]) {
    for (const DeviceId device : holders) {
      std::int64_t count = -1;
      for (const Action& action : expand(schedule.devices[index(device)])) {
        if (action.op != Op::kF) break;
        ++count;
      }
      counts.push_back(count);
    }
  }
  return counts;
}

}  // namespace

TEST_CASE("1f1b-rr without replicas is pipedream") {
  const Schedule straight = replicated("1-1-1-1", 4, 2, 7);
  CHECK(straight.devices == generate("pipedream", {.num_devices = 4, .num_microbatches = 2, .updates = 7}).devices);
  CHECK(warmups(straight) == std::vector<std::int64_t>{3, 2, 1, 0});
}

TEST_CASE("warm-ups of replicated stages are the published ones") {
  using Counts = std::vector<std::int64_t>;
  CHECK(warmups(replicated("15-1", 16)) == Counts{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0});
  CHECK(warmups(replicated("3-1", 4)) == Counts{1, 1, 1, 0});
  CHECK(warmups(replicated("2-1-1", 4)) == Counts{1, 1, 1, 0});
  CHECK(warmups(replicated("1-1-1-1-1-1-1-1-3-1", 12, 1, 8)) == Counts{11, 10, 9, 8, 7, 6, 5, 4, 1, 1, 1, 0});
}

TEST_CASE("devices of the input stage admit ceil(workers / replicas of the input stage) microbatches at the start") {
  for (const auto& [replicas, p, admitted] : std::vector<std::tuple<std::string, std::int32_t, std::int64_t>>{
           {"15-1", 16, 2}, {"3-1", 4, 2}, {"2-1-1", 4, 2}, {"1-1-1-1", 4, 4}, {"1-3", 4, 4}, {"2-3", 5, 3}}) {
    CAPTURE(replicas);
    CHECK(warmups(replicated(replicas, p)).front() + 1 == admitted);
  }
}

TEST_CASE("a device of 1f1b-rr takes its microbatches in turn, alternates, and updates with its stage") {
  for (const std::string replicas : {"2-1-1", "3-1", "1-3", "1-2-1", "2-2"}) {
    for (const std::int64_t m : {1, 2, 3}) {
      const Schedule schedule = replicated(replicas, 4, m);
      std::int64_t before = 0;
      for (std::size_t stage = 0; stage < schedule.placement[0].size(); ++stage) {
        const auto& holders = schedule.placement[0][stage];
        const std::int64_t r = std::ssize(holders);
        for (std::int64_t copy = 0; copy < r; ++copy) {
          CAPTURE(replicas);
          CAPTURE(m);
          CAPTURE(stage);
          CAPTURE(copy);
          Unrolled list;
          const std::int64_t all = schedule.num_microbatches / r;
          const std::int64_t warmup = (4 - 1 - before) / r;
          std::int64_t f = 0;
          const auto s = static_cast<std::int64_t>(stage);
          while (f < std::min(warmup, all)) list.add(s, "F", copy + r * f++);
          for (std::int64_t b = 0; b < all; ++b) {
            if (f < all) list.add(s, "F", copy + r * f++);
            list.add(s, "B", copy + r * b);
            if ((b + 1) % m != 0) continue;
            if (r > 1) list.add_collective(s, "REDUCE_GRAD");
            list.add(s, "U", b / m);
          }
          CHECK(list_text(schedule, static_cast<std::int64_t>(holders[static_cast<std::size_t>(copy)])) == list.text());
        }
        before += r;
      }
    }
  }
}

TEST_CASE("1f1b-rr's backwards read what their forwards read, and a device keeps its warm-up + 1 versions at m = 1") {
  for (const std::string replicas : {"2-1-1", "3-1", "1-3", "1-2-1", "1-1-2"}) {
    CAPTURE(replicas);
    const Schedule schedule = replicated(replicas, 4, 1, 12);
    const VersionsRead reads = versions_read(schedule);
    CHECK(reads.forward == reads.backward);
    const std::vector<std::int64_t> ahead = warmups(schedule);
    const std::vector<std::int64_t> versions = most_versions(schedule);
    const std::vector<std::int64_t> stashes = peak_stashes(schedule);
    for (std::size_t d = 0; d < 4; ++d) {
      CHECK(versions[d] == ahead[d] + 1);
      CHECK(stashes[d] == ahead[d] + 1);
    }
  }
}

TEST_CASE("a bottleneck stage with as many replicas as it is slower keeps all devices busy") {
  // Stage 0 of 3-1 takes three times as long as stage 1.
  const auto makespan = [](std::int64_t updates) {
    const Schedule schedule = replicated("3-1", 4, 1, updates);
    return replay(schedule, {.f = 1, .b = 2}).makespan;
  };
  CHECK(makespan(13) - makespan(12) == 9);  // stage 1 alone: three microbatches of 3 units
}

TEST_CASE("impossible replicas are refused with the rule") {
  CHECK(error_message([] { replicated("2-1", 4); }) ==
        "1f1b-rr: option replicas: expected the devices of each stage, as 2-1-1, 4 together, found '2-1'");
  CHECK(error_message([] { replicated("4-0", 4); }) ==
        "1f1b-rr: option replicas: expected the devices of each stage, as 2-1-1, 4 together, found '4-0'");
  CHECK(error_message([] { replicated("2--2", 4); }) ==
        "1f1b-rr: option replicas: expected the devices of each stage, as 2-1-1, 4 together, found '2--2'");
  CHECK(error_message([] { replicated("2-2x", 4); }) ==
        "1f1b-rr: option replicas: expected the devices of each stage, as 2-1-1, 4 together, found '2-2x'");
}

TEST_CASE("the picture of 1f1b-rr is the one in tests/golden") {
  const std::string actual = picture(replicated("2-1-1", 4, 1, 4), {});
  CHECK(actual == golden("schedules/1f1b_rr.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
