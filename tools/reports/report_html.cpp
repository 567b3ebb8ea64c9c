#include "tools/reports/report_html.hpp"

#include <cassert>

#include "models/ground/error.hpp"
#include "tools/reports/page_data.hpp"
#include "tools/reports/report_page.hpp"

namespace plumb {
namespace {

constexpr std::size_t kMostEntries = 4'000'000;

/// Spans and points of memory curves of all runs.
std::size_t entries(const HtmlReport& report) {
  std::size_t count = 0;
  for (const HtmlSection& section : report.sections) {
    assert(section.first != nullptr);
    for (const Timeline* run : {section.first, section.second}) {
      if (run != nullptr) count += run->spans.size() + run->memory.points.size();
    }
  }
  return count;
}

}  // namespace

std::string html_report(const HtmlReport& report) {
  if (const std::size_t count = entries(report); count > kMostEntries) {
    throw Error("HTML report: " + std::to_string(count) + " spans and memory changes, expected at most " +
                std::to_string(kMostEntries) + " (fewer microbatches or devices, or --summary)");
  }
  std::string page(kPageBeforeData);
  page += page_data(report);
  page += kPageAfterData;
  return page;
}

}  // namespace plumb
