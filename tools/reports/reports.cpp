#include "tools/reports/reports.hpp"

#include <algorithm>
#include <array>

#include "tools/reports/report_csv.hpp"
#include "tools/reports/report_html.hpp"
#include "tools/reports/report_limit.hpp"
#include "tools/reports/report_pdf.hpp"
#include "tools/reports/report_png.hpp"
#include "tools/reports/report_svg.hpp"
#include "tools/reports/report_tikz.hpp"
#include "tools/reports/report_trace.hpp"

namespace plumb {
namespace {

/// What a page holds of a run with many steps or large ones; those far from the one that is shown are left out.
constexpr std::size_t kMostSteps = 24;
constexpr std::size_t kMostSpans = 1'000'000;

/// Writes a section for every step, of which one is chosen.
void page_of_run(const ReportedRun& run, const TextSink& sink) {
  const std::string title = run.timeline().schedule;
  HtmlReport report{.title = title};
  const std::size_t most = std::clamp<std::size_t>(kMostSpans / (run.timeline().spans.size() + 1), 1, kMostSteps);
  const std::size_t end = std::min(run.steps.size(), std::max(run.shown + (most + 1) / 2, most));
  for (std::size_t k = end - std::min(end, most); k < end; ++k) {
    report.sections.push_back({.title = title,
                               .first = &run.steps[k],
                               .choice = run.steps.size() > 1 ? "step " + std::to_string(k) : "",
                               .chosen = k == run.shown});
  }
  sink(html_report(report));
}

template <void (*write)(const Timeline&, const TextSink&)>
void of_shown(const ReportedRun& run, const TextSink& sink) {
  write(run.timeline(), sink);
}

template <std::string (*make)(const Timeline&, const PictureStyle&)>
void picture_of(const ReportedRun& run, const TextSink& sink) {
  sink(make(run.timeline(), run.style));
}

constexpr std::array kReportFormats{
    ReportFormat{.name = "trace",
                 .extension = ".json",
                 .summary = "Chrome trace events for Perfetto or chrome://tracing",
                 .write = of_shown<trace_report>,
                 .limit = &kTraceLimit},
    ReportFormat{.name = "html",
                 .extension = ".html",
                 .summary = "interactive page for a browser; one file that needs no network",
                 .write = page_of_run,
                 .limit = &kPageLimit},
    ReportFormat{"svg", ".svg", "picture as SVG", picture_of<svg_report>},
    ReportFormat{"csv", ".csv", "one row per executed action", of_shown<csv_report>},
    ReportFormat{"tikz", ".tex", "picture for LaTeX: a tikzpicture", picture_of<tikz_report>},
    ReportFormat{"pdf", ".pdf", "picture as PDF, for papers", picture_of<pdf_report>},
    ReportFormat{.name = "png",
                 .extension = ".png",
                 .summary = "picture as PNG, 300 dots an inch",
                 .write = picture_of<png_report>,
                 .why_not = why_no_png,
                 .is_binary = true},
};

}  // namespace

std::span<const ReportFormat> report_formats() { return kReportFormats; }

}  // namespace plumb
