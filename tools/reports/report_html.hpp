#pragma once

#include <string>

#include "tools/reports/page_content.hpp"

namespace plumb {

/// Returns the report as one HTML file that needs no network: figures of all runs side by side, then per section the
/// timeline (zoom, pan, hover), memory by class, idle time by cause, and the comparison where there are two runs. Same
/// input, same bytes out. Throws `Error` above 4 million spans and points of memory curves, which browsers do not hold.
std::string html_report(const HtmlReport& report);

}  // namespace plumb
