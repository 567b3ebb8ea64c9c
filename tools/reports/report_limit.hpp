#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "schedules/document/schedule.hpp"

namespace plumb {

/// Spans and changes of memory that a report can show.
struct ReportLimit {
  std::string_view report;  ///< "HTML report"
  std::size_t most = 0;
  std::string_view instead;  ///< what to ask for instead
};

/// What browsers and viewers of traces hold.
inline constexpr ReportLimit kPageLimit{"HTML report", 4'000'000, "--summary"};
inline constexpr ReportLimit kTraceLimit{"trace", 4'000'000, "--csv"};

/// Throws `Error` when there are more than the limit. `at_least`: there may be even more.
void check_report(const ReportLimit& limit, std::size_t count, bool at_least = false);

/// Returns the spans that a run of the schedule has at the least: one for every pass. At most 2^53.
std::int64_t least_spans(const Schedule& schedule);

}  // namespace plumb
