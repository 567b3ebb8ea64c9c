#include <string>

#include "sim/timeline/timeline_io.hpp"
#include "tests/fuzz/promise.hpp"
#include "tools/reports/reports.hpp"

/// A timeline that can be read can be written as every report, or the report is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  const auto read = [&] { return timeline_from_json(std::string(testing::text_of(data, size)), "fuzz.json"); };
  return testing::read_or_refuse(read, [](const Timeline& timeline) {
    if (timeline.spans.empty()) return;
    for (const ReportFormat& format : report_formats()) {
      testing::read_or_refuse(
          [&] {
            return format.make({.steps = {&timeline, 1}});
          },
          [](const std::string& text) { testing::promise(!text.empty(), "a file"); });
    }
  });
}
