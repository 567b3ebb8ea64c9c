#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sim/timeline/timeline.hpp"

namespace plumb {

/// One row of the table of report formats: a way to show one timeline, written by `--<name> FILE`.
struct ReportFormat {
  std::string_view name;                          ///< also the option
  std::string_view extension;                     ///< of its files
  std::string_view summary;                       ///< one line for the help page
  std::string (*make)(const Timeline& timeline);  ///< the whole file; `timeline` must have spans
};

/// All formats, in the order of the help page. Adding one: `report_<name>.{hpp,cpp}` and its row in reports.cpp. Pages
/// with several runs: report_html.hpp.
std::span<const ReportFormat> report_formats();

}  // namespace plumb
