#include "tools/report_html.hpp"

#include <cassert>

#include "tools/page_data.hpp"
#include "tools/report_page.hpp"

namespace plumb {

std::string html_report(const HtmlReport& report) {
  for ([[maybe_unused]] const HtmlSection& section : report.sections) assert(section.first != nullptr);
  std::string page(kPageBeforeData);
  page += page_data(report);
  page += kPageAfterData;
  return page;
}

}  // namespace plumb
