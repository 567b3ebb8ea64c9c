#include "schedules/checks/validation_size.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

/// Actions that a document may have when every one of them is looked at.
constexpr std::int64_t kMostActionsChecked = std::int64_t{1} << 28U;

// Measured with zb-h1 (3 and 13 million actions), 1f1b (34 million) and interleaved (4 million): 46 to 49 bytes and 220
// to 340 ns each, most of it for the program that must run to its end.
constexpr double kCheckedBytes = 45;
constexpr double kCheckedSeconds = 250e-9;
constexpr double kMessageBytes = 90;  ///< zb-h1 with 3 million actions
constexpr double kMessageSeconds = 1e-6;
constexpr double kTableBytes = 2;  ///< of a stage, microbatch and slice, while the document itself is looked at
constexpr double kListedSeconds = 50e-9;

std::int64_t slices_at_most(const Schedule& schedule) {
  std::int64_t most = 1;
  if (!schedule.slices) return most;
  for (const auto& lengths : schedule.slices->lengths) most = std::max<std::int64_t>(most, std::ssize(lengths));
  return most;
}

void check_counts(const Schedule& schedule) {
  const auto refuse = [&](std::int64_t size, const char* what, std::int64_t most) {
    throw Error("schedule '" + schedule.name + "': " + std::to_string(size) + what + "; expected at most " +
                std::to_string(most) + " to check");
  };
  if (const std::int64_t size = action_count(schedule); size > kMostActionsChecked)
    refuse(size, " actions", kMostActionsChecked);
  const std::int64_t slices = slices_at_most(schedule);
  const std::int64_t cells = schedule.num_stages * schedule.num_microbatches;
  if (slices > 1 && cells > kMostActionsChecked / slices)
    refuse(cells, " stages and microbatches in slices", kMostActionsChecked / slices);
}

}  // namespace

std::int64_t action_count(const Schedule& schedule) {
  std::int64_t total = 0;
  for (const DeviceList& list : schedule.devices) {
    const std::int64_t size = expanded_size(list);
    total = total > std::numeric_limits<std::int64_t>::max() - size ? std::numeric_limits<std::int64_t>::max()
                                                                    : total + size;
  }
  return total;
}

WorkSize validation_size(const Schedule& schedule) {
  return work_size(static_cast<double>(action_count(schedule)), kCheckedBytes, kCheckedSeconds);
}

WorkSize message_check_size(const Schedule& schedule) {
  return work_size(static_cast<double>(action_count(schedule)), kMessageBytes, kMessageSeconds);
}

void check_size_to_check(const Schedule& schedule, const WorkSize& size) {
  check_work_size(
      "schedule '" + schedule.name + "' has " + std::to_string(action_count(schedule)) + " actions to check", size);
}

void check_document_size(const Schedule& schedule) {
  check_counts(schedule);
  const std::int64_t actions = action_count(schedule);
  const std::int64_t cells = schedule.num_stages * schedule.num_microbatches;
  if (actions < cells / 256) return;  // found incomplete before any table is made
  WorkSize size = work_size(static_cast<double>(cells * slices_at_most(schedule)), kTableBytes, 0);
  size.seconds = static_cast<double>(actions) * kListedSeconds;
  check_size_to_check(schedule, size);
}

void check_validation_size(const Schedule& schedule) {
  check_counts(schedule);
  check_size_to_check(schedule, validation_size(schedule));
}

}  // namespace plumb
