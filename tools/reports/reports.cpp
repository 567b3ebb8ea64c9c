#include "tools/reports/reports.hpp"

#include <array>

#include "tools/reports/report_csv.hpp"
#include "tools/reports/report_html.hpp"
#include "tools/reports/report_svg.hpp"
#include "tools/reports/report_tikz.hpp"
#include "tools/reports/report_trace.hpp"

namespace plumb {
namespace {

std::string single_run_page(const Timeline& timeline) {
  return html_report({.title = timeline.schedule, .sections = {{.title = timeline.schedule, .first = &timeline}}});
}

constexpr std::array kReportFormats{
    ReportFormat{"trace", ".json", "Chrome trace events for Perfetto or chrome://tracing", trace_report},
    ReportFormat{"html", ".html", "interactive page for a browser; one file that needs no network", single_run_page},
    ReportFormat{"svg", ".svg", "picture as SVG (rsvg-convert, Inkscape and browsers make PNG and PDF of it)",
                 svg_report},
    ReportFormat{"csv", ".csv", "one row per executed action", csv_report},
    ReportFormat{"tikz", ".tex", "picture for LaTeX: a tikzpicture", tikz_report},
};

}  // namespace

std::span<const ReportFormat> report_formats() { return kReportFormats; }

}  // namespace plumb
