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

Schedule double_buffered(std::int32_t p, std::int64_t m, std::int64_t updates,
                         std::map<std::string, std::string> options = {}) {
  return generate("pipedream-2bw",
                  {.num_devices = p, .num_microbatches = m, .updates = updates, .options = std::move(options)});
}

}  // namespace

TEST_CASE("pipedream-2bw has the lists of pipedream") {
  const ScheduleParams params{.num_devices = 4, .num_microbatches = 3, .updates = 7};
  CHECK(generate("pipedream-2bw", params).devices == generate("pipedream", params).devices);
}

TEST_CASE("2bw reads version max(floor(k / m) - 1, 0) everywhere and keeps two versions on every stage") {
  for (const std::int32_t p : {1, 2, 3, 4, 8}) {
    for (const std::int64_t m : {4, 7, 8}) {
      if (m < p - 1) continue;
      CAPTURE(p);
      CAPTURE(m);
      const Schedule schedule = double_buffered(p, m, 5);
      const VersionsRead reads = versions_read(schedule);
      for (const auto& [key, version] : reads.forward) {
        CHECK(version == std::max<std::int64_t>(key.first / m - 1, 0));
        CHECK(reads.backward.at(key) == version);
      }
      for (const std::int64_t versions : most_versions(schedule)) CHECK(versions == 2);
    }
  }
}

TEST_CASE(
    "the smallest uniform delay is ceil((p - 1) / m), in slots ceil((2p - 1) / m), and a smaller one is refused") {
  struct Row {
    std::int32_t p;
    std::int64_t m, in_turn, in_slots;
  };
  const std::vector<Row> published{{2, 1, 1, 3}, {2, 2, 1, 2}, {2, 3, 1, 1}, {4, 1, 3, 7},  {4, 2, 2, 4},
                                   {4, 3, 1, 3}, {4, 4, 1, 2}, {4, 8, 1, 1}, {8, 1, 7, 15}, {8, 2, 4, 8},
                                   {8, 3, 3, 5}, {8, 4, 2, 4}, {8, 8, 1, 2}};
  for (const Row& row : published) {
    for (const bool slots : {false, true}) {
      CAPTURE(row.p);
      CAPTURE(row.m);
      CAPTURE(slots);
      const std::int64_t delay = slots ? row.in_slots : row.in_turn;
      const std::string timing = slots ? "slots" : "1f1b";
      const Schedule schedule =
          double_buffered(row.p, row.m, 2 * delay + 3, {{"delay", std::to_string(delay)}, {"timing", timing}});
      const VersionsRead reads = versions_read(schedule);
      for (const auto& [key, version] : reads.backward) {
        CHECK(version == std::max<std::int64_t>(key.first / row.m - delay, 0));
      }
      for (const std::int64_t versions : most_versions(schedule)) CHECK(versions == delay + 1);
      if (delay == 1) continue;
      const std::string refusal = error_message([&] {
        double_buffered(row.p, row.m, 4, {{"delay", std::to_string(delay - 1)}, {"timing", timing}});
      });
      CHECK(refusal.find("; the smallest delay is " + std::to_string(delay)) != std::string::npos);
    }
  }
}

TEST_CASE("2bw is refused where stage 0 would ask for a version that is not there yet") {
  CHECK(error_message([] { double_buffered(4, 2, 3); }) ==
        "pipedream-2bw: num_microbatches (2) times delay (1) must be at least 3; the smallest delay is 2");
}

TEST_CASE("the picture of pipedream-2bw is the one in tests/golden") {
  const std::string actual = picture(double_buffered(4, 4, 3), {});
  CHECK(actual == golden("schedules/pipedream_2bw.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
