#include "schedules/checks/validation_size.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "schedules/document/schedule.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/written_schedule.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

/// One device whose first action runs so often, and whose other action once.
Schedule long_list(std::int64_t count) {
  Schedule schedule = written_schedule({"0F0 0B0"}, 4);
  schedule.devices[0].repeats = {{0, 1, count, {}}};
  return schedule;
}

constexpr std::int64_t kMostChecked = std::int64_t{1} << 28;

bool is_too_long(const Schedule& schedule) {
  const std::string told = error_message([&] { check_validation_size(schedule); });
  return told.find("actions; expected at most 268435456 to check") != std::string::npos;
}

bool has_too_many_cells(const Schedule& schedule, const std::string& most) {
  const std::string told = error_message([&] { check_document_size(schedule); });
  return told.find(" stages and microbatches in slices; expected at most " + most + " to check") != std::string::npos;
}

}  // namespace

TEST_CASE("actions of all devices count as often as they run, up to the largest number") {
  CHECK(action_count(long_list(1)) == 2);
  CHECK(action_count(long_list(1000)) == 1001);
  Schedule two = long_list(1000);
  two.devices.push_back(two.devices[0]);
  CHECK(action_count(two) == 2002);
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  two.devices[0].repeats[0].count = kLargest - 1 - 1001;
  CHECK(action_count(two) == kLargest - 1 + 1);
  two.devices[0].repeats[0].count = kLargest - 2 - 1001;
  CHECK(action_count(two) == kLargest - 1);
  two.devices[0].repeats[0].count = kLargest - 2;
  CHECK(action_count(two) == kLargest);
}

TEST_CASE("2^28 actions are checked one by one, and not one more") {
  CHECK_FALSE(is_too_long(long_list(kMostChecked - 1)));
  CHECK(is_too_long(long_list(kMostChecked)));
  CHECK(error_message([&] { check_document_size(long_list(kMostChecked)); }) ==
        "schedule 'written': 268435457 actions; expected at most 268435456 to check");
}

TEST_CASE("slices of all stages and microbatches count where microbatches are cut") {
  Schedule schedule = written_schedule({"0F0", "1F0"}, kMostChecked / 4);
  schedule.slices = Slices{.lengths = {{1, 1}}};
  CHECK_FALSE(has_too_many_cells(schedule, "134217728"));  // 2 stages, 2^26 microbatches: 2^27, the most of two slices
  schedule.num_microbatches += 1;
  CHECK(has_too_many_cells(schedule, "134217728"));
  schedule.slices->lengths = {{1, 1}, {1, 1, 1, 1}};
  CHECK(has_too_many_cells(schedule, "67108864"));
  schedule.slices->lengths = {{2}};
  CHECK_FALSE(has_too_many_cells(schedule, "268435456"));
  schedule.slices = std::nullopt;
  schedule.num_microbatches = std::int64_t{1} << 30;
  CHECK(error_message([&] { check_document_size(schedule); }) == "");  // far from complete: no table is made
}

TEST_CASE("a table of all slices is refused where this process cannot get its memory, 2 bytes for each") {
  if (kSanitizerAllocates) return;
  Schedule schedule = written_schedule({"0F0", "1F0"}, std::int64_t{1} << 24);
  schedule.devices[0].repeats = {{0, 1, std::int64_t{1} << 18, {}}};
  /// What a process of its own says that can get 128 MiB more.
  const auto is_refused = [&] {
    const pid_t child = fork();
    if (child == 0) {
      std::ifstream statm("/proc/self/statm");
      rlim_t pages = 0;
      statm >> pages;
      const rlim_t most = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{128} << 20);
      const rlimit limit{.rlim_cur = most, .rlim_max = RLIM_INFINITY};
      if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(3);
      const std::string told = error_message([&] { check_document_size(schedule); });
      _exit(told.empty() ? 0 : told.find(" of memory and ") != std::string::npos ? 1 : 2);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  CHECK(is_refused() == 0);  // 2 stages, 2^24 microbatches: 64 MiB
  schedule.slices = Slices{.lengths = {{1, 1, 1, 1}}};
  CHECK(is_refused() == 1);  // four times as much
}

TEST_CASE("a check takes what it was measured to take: 46 to 49 bytes and 220 to 340 ns for an action") {
  for (const std::int64_t count : {999, 1'999'999}) {
    const Schedule schedule = long_list(count);
    const auto actions = static_cast<double>(count + 1);
    const WorkSize size = validation_size(schedule);
    CHECK(size.actions == count + 1);
    CHECK(static_cast<double>(size.bytes) <= 46 * actions);  // rather too few than too many
    CHECK(static_cast<double>(size.bytes) > 40 * actions);
    CHECK(size.seconds > 220e-9 * actions);
    CHECK(size.seconds < 340e-9 * actions);
    const WorkSize messages = message_check_size(schedule);
    CHECK(messages.actions == count + 1);
    CHECK(messages.bytes > size.bytes);  // the same and more
    CHECK(messages.bytes < 3 * size.bytes);
    CHECK(messages.seconds > 2 * size.seconds);
    CHECK(messages.seconds < 10 * size.seconds);
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
