#include "sim/rules/run_size.hpp"

#include <cstdint>
#include <string>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

// Bytes and seconds of one action, measured with zb-h1 (25 million actions, 37 bytes each) and interleaved over links
// (5 million, 137).
constexpr double kProgramBytes = 29;  ///< instructions, their waits, the table of who makes what
constexpr double kTotalsBytes = 8;    ///< ends
constexpr double kTimesBytes = 16;    ///< starts and ends
constexpr double kMessageBytes = 85;  ///< transfers, their times, lists of them
constexpr double kSpanBytes = 60;     ///< spans and the points of memory curves
constexpr double kComputeSeconds = 30e-9;
constexpr double kWrittenSeconds = 10e-9;
constexpr double kMessageSeconds = 150e-9;
constexpr double kSpanSeconds = 100e-9;

double total_actions(const Schedule& schedule) {
  double total = 0;
  for (const DeviceList& list : schedule.devices) total += static_cast<double>(expanded_size(list));
  return total;
}

}  // namespace

WorkSize run_size(const Schedule& schedule, bool messages, const SimOptions& options) {
  const double actions = total_actions(schedule);
  double bytes = kProgramBytes + (messages || options.spans ? kTimesBytes : kTotalsBytes);
  double seconds = kComputeSeconds;
  if (messages && schedule.num_devices > 1) {
    bytes += kMessageBytes;
    seconds += kMessageSeconds;
  }
  if (options.spans) {
    bytes += kSpanBytes;
    seconds += kSpanSeconds;
  }
  return work_size(actions, bytes, seconds);
}

WorkSize written_run_size(const Schedule& schedule) { return work_size(total_actions(schedule), 0, kWrittenSeconds); }

void check_run_size(const Schedule& schedule, bool messages, const SimOptions& options) {
  const WorkSize size = run_size(schedule, messages, options);
  const std::string what = "schedule '" + schedule.name + "' has " + std::to_string(size.actions) + " actions" +
                           (options.spans ? "" : " and no steady state that could be skipped");
  if (size.actions > kMostActionsRun) {
    throw Error(what + "; expected at most " + std::to_string(kMostActionsRun) + " (they would take about " +
                gibibytes(size.bytes) + " of memory)");
  }
  check_work_size(what, size);
  if (options.on_full_run != nullptr) options.on_full_run(size);
}

}  // namespace plumb
