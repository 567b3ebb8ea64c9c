#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "models/ground/text_pieces.hpp"
#include "sim/timeline/timeline.hpp"
#include "tools/reports/picture_style.hpp"

namespace plumb {

/// What reports show: a run, or several steps of one. Both outlive the report's making.
struct ReportedRun {
  std::span<const Timeline> steps;
  std::size_t shown = 0;  ///< the step that formats with room for one step show, and pages at first
  PictureStyle style = {};

  const Timeline& timeline() const { return steps[shown]; }
};

struct ReportLimit;

/// One row of the table of report formats: a way to show a run, written by `--<name> FILE`.
struct ReportFormat {
  std::string_view name;                                        ///< also the option
  std::string_view extension;                                   ///< extension of its files
  std::string_view summary;                                     ///< one line for the help page
  void (*write)(const ReportedRun& run, const TextSink& sink);  ///< timelines must have spans
  const ReportLimit* limit = nullptr;                           ///< null: shows any number of spans
  std::string_view (*why_not)() = nullptr;  ///< why this program cannot make it (empty: it can); none: all can
  bool is_binary = false;                   ///< the file is no text

  /// The whole file.
  std::string make(const ReportedRun& run) const { return in_one_piece(write, run); }
};

/// Returns all formats, in the order of the help page. Adding one: `report_<name>.{hpp,cpp}` and its row in
/// reports.cpp. Pages with several runs: report_html.hpp.
std::span<const ReportFormat> report_formats();

}  // namespace plumb
