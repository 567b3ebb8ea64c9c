#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/unrolled.hpp"
#include "tests/support/versions_read.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule waves(std::int32_t p, std::int64_t m, std::int64_t updates, std::map<std::string, std::string> options = {}) {
  return generate("hetpipe",
                  {.num_devices = p, .num_microbatches = m, .updates = updates, .options = std::move(options)});
}

}  // namespace

TEST_CASE("a virtual worker of hetpipe runs Nm microbatches at once and exchanges weights after every Nm updates") {
  for (const std::int64_t workers : {1, 2, 3}) {
    for (const std::int64_t stages : {1, 2, 4}) {
      for (std::int64_t concurrent = 1; concurrent <= stages; ++concurrent) {
        for (const std::int64_t each : {1, 2}) {
          CAPTURE(workers);
          CAPTURE(stages);
          CAPTURE(concurrent);
          CAPTURE(each);
          const std::int64_t updates = 3 * concurrent + 1;
          const Schedule schedule =
              waves(static_cast<std::int32_t>(workers * stages), each * workers, updates,
                    {{"virtual-workers", std::to_string(workers)}, {"concurrent", std::to_string(concurrent)}});
          for (std::int64_t d = 0; d < workers * stages; ++d) {
            const std::int64_t worker = d / stages;
            const std::int64_t stage = d % stages;
            const std::string mark = worker > 0 ? std::to_string(worker) + ":" : "";
            std::string expected;
            const auto add = [&](const std::string& what) {
              expected += (expected.empty() ? "" : " ") + mark + std::to_string(stage) + what;
            };
            const std::int64_t all = updates * each;
            std::int64_t f = 0;
            for (std::int64_t b = 0; b < all; ++b) {
              while (f < std::min(b + std::min(concurrent, stages - stage), all)) {
                add("F" + std::to_string(worker + workers * f++));
              }
              add("B" + std::to_string(worker + workers * b));
              if ((b + 1) % each != 0) continue;
              add("U" + std::to_string(b / each));
              if (workers > 1 && (b + 1) % (each * concurrent) == 0) add("SYNC_WEIGHTS");
            }
            CHECK(list_text(schedule, d) == expected);
          }
        }
      }
    }
  }
}

TEST_CASE("without exchanges hetpipe's versions are those of a stash, at most Nm of them") {
  for (const std::int64_t concurrent : {1, 2, 4}) {
    CAPTURE(concurrent);
    const Schedule schedule = waves(4, 1, 20, {{"virtual-workers", "1"}, {"concurrent", std::to_string(concurrent)}});
    const VersionsRead reads = versions_read(schedule);
    CHECK(reads.forward == reads.backward);
    const std::vector<std::int64_t> versions = most_versions(schedule);
    for (std::int64_t d = 0; d < 4; ++d) {
      CHECK(versions[static_cast<std::size_t>(d)] == std::min(concurrent, 4 - d));
    }
    for (const auto& [key, version] : reads.forward) {
      CHECK(version == newest_at_forward(key.first, std::min(concurrent, 4 - key.second) - 1, 1));
    }
  }
}

TEST_CASE("hetpipe says how far a virtual worker may run ahead") {
  CHECK(waves(4, 2, 4).weights.sync_distance == 0);
  CHECK(waves(4, 2, 4, {{"distance", "3"}}).weights.sync_distance == 3);
  CHECK(waves(4, 2, 4, {{"distance", "0"}}).weights.sync_distance == 0);
}

TEST_CASE("what hetpipe cannot do is refused with the rule") {
  CHECK(error_message([] { waves(3, 2, 4); }) == "hetpipe: num_devices (3) must be a multiple of virtual-workers (2)");
  CHECK(error_message([] { waves(4, 3, 4); }) ==
        "hetpipe: num_microbatches (3) must be a multiple of virtual-workers (2)");
  CHECK(error_message([] {
          waves(4, 2, 4, {{"concurrent", "3"}});
        }) == "hetpipe: concurrent (3) must be at most the devices of a virtual worker (2)");
}

TEST_CASE("an exchange of weights that not all holders join, or that comes after they were read, is a violation") {
  const auto first_violation = [](const Schedule& schedule) {
    const std::vector<Violation> found = validate(schedule);
    return found.empty() ? "" : to_string(found.front());
  };
  Schedule schedule = waves(4, 2, 4);
  CHECK(first_violation(schedule).empty());
  for (DeviceList& list : schedule.devices) list = {expand(list), {}};
  Schedule fewer = schedule;
  fewer.devices[3].actions.pop_back();
  CHECK(first_violation(fewer) ==
        "device 3, position 13: 1:1SYNC_WEIGHTS: stands 1 times in the list; expected 2, as for the stage's first "
        "holder");
  Schedule late = schedule;
  std::swap(late.devices[0].actions[7], late.devices[0].actions[8]);  // 0SYNC_WEIGHTS 0F6
  CHECK(first_violation(late) ==
        "device 0, position 8: 0SYNC_WEIGHTS: expected after an update, before anything reads the new weights");
}

TEST_CASE("the picture of hetpipe is the one in tests/golden") {
  const std::string actual = picture(waves(4, 2, 6), {});
  CHECK(actual == golden("schedules/hetpipe.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
