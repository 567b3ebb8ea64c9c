#include "tools/reports/report_html.hpp"

#include <cassert>

#include "tools/reports/page_data.hpp"
#include "tools/reports/report_limit.hpp"
#include "tools/reports/report_page.hpp"

namespace plumb {
namespace {

/// Returns the spans and points of memory curves of all runs.
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
  check_report(kPageLimit, entries(report));
  std::string page(kPageBeforeData);
  page += page_data(report);
  page += kPageAfterData;
  return page;
}

}  // namespace plumb
