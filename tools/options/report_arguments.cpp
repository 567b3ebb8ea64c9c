#include "tools/options/report_arguments.hpp"

#include <algorithm>
#include <array>

#include "models/ground/error.hpp"
#include "sim/timeline/timeline_io.hpp"
#include "tools/reports/report_limit.hpp"

namespace plumb {

namespace {

/// Names of pictures, pages and documents that programs open by their ends.
constexpr std::array<std::string_view, 12> kWellKnownExtensions{".bmp",  ".csv", ".eps",  ".gif", ".htm", ".html",
                                                                ".jpeg", ".jpg", ".json", ".pdf", ".png", ".svg"};

/// Throws `Error` where the end of `path` promises another kind of file than the option writes.
void check_kind(std::string_view option, std::string_view extension, const std::string& path) {
  const bool promises = std::ranges::any_of(kWellKnownExtensions, [&](auto end) { return path.ends_with(end); });
  if (!promises || path.ends_with(extension) || (extension == ".html" && path.ends_with(".htm"))) return;
  std::string expected = "a name that ends in " + std::string(extension);
  for (const ReportFormat& format : report_formats()) {
    if (path.ends_with(format.extension)) expected += ", or --" + std::string(format.name) + " " + path;
  }
  throw Error("--" + std::string(option) + ": writes " + std::string(extension) + " files, found '" + path +
              "'; expected " + expected);
}

}  // namespace

OutputFiles& OutputFiles::add_to(OptionTable& parser, const std::string& name, const std::string& help) {
  files_.push_back({.name = name.substr(0, name.find(','))});
  parser.text(name, files_.back().path, "FILE", help);
  return *this;
}

void OutputFiles::open() {
  std::vector<std::string> paths;
  for (const Named& each : files_) paths.push_back(each.path);
  check_distinct_outputs(paths);
  for (Named& each : files_) {
    if (!each.path.empty()) each.file.emplace(each.path);
  }
}

const std::string& OutputFiles::path(std::string_view name) const {
  return std::ranges::find(files_, name, &Named::name)->path;
}

OutputFile* OutputFiles::file(std::string_view name) {
  const auto found = std::ranges::find(files_, name, &Named::name);
  return found->file ? &*found->file : nullptr;
}

void OutputFiles::finish(std::string_view name, const std::function<std::string()>& make) {
  if (OutputFile* const to = file(name)) to->finish(make());
}

bool OutputFiles::take_standard_output() const {
  return std::ranges::any_of(files_, [](const Named& each) { return each.path == "-"; });
}

ReportArguments::ReportArguments() : files(report_formats().size()) {}

void ReportArguments::add_to(OptionTable& parser) {
  parser.group("Output (- is standard output)")
      .flag("summary", summary,
            "print the figures only, without the drawing; --json then has no spans and no memory curve")
      .brief()
      .text("json", json, "FILE", "the whole timeline as JSON (sim/timeline/TIMELINE_DOCUMENT.md)")
      .brief();
  const auto formats = report_formats();
  for (std::size_t i = 0; i < formats.size(); ++i) {
    parser.text(std::string(formats[i].name), files[i], "FILE", std::string(formats[i].summary));
    if (formats[i].name == "html" || formats[i].name == "pdf") parser.brief();
  }
  add_picture_style_to(parser, style);
}

void add_picture_style_to(OptionTable& parser, PictureStyle& style) {
  parser
      .real("width", style.width_cm, {kLeastPictureCm, kMostPictureCm, "cm"},
            "width of pictures: 8.5cm for a column, 17cm for a page (default: 16cm; --svg: its place); text keeps its "
            "size")
      .text("caption", style.caption, "TEXT", "a caption under the picture of --svg, --pdf and --png");
}

bool ReportArguments::takes_standard_output() const {
  return json == "-" || std::find(files.begin(), files.end(), "-") != files.end();
}

bool ReportArguments::any() const {
  return !json.empty() || std::any_of(files.begin(), files.end(), [](const auto& file) { return !file.empty(); });
}

std::vector<std::string> ReportArguments::outputs() const {
  std::vector<std::string> paths = files;
  paths.push_back(json);
  return paths;
}

bool ReportArguments::needs_spans() const {
  const bool reports = std::any_of(files.begin(), files.end(), [](const auto& file) { return !file.empty(); });
  return reports || (!json.empty() && !summary);
}

void ReportArguments::check_size(const Schedule& schedule) const {
  const auto formats = report_formats();
  for (std::size_t i = 0; i < formats.size(); ++i) {
    if (files[i].empty() || formats[i].limit == nullptr) continue;
    check_report(*formats[i].limit, static_cast<std::size_t>(least_spans(schedule)), true);
  }
}

ReportFiles::ReportFiles(const ReportArguments& arguments, const std::string& other)
    : summary_(arguments.summary), style_(arguments.style) {
  std::vector<std::string> outputs = arguments.outputs();
  outputs.push_back(other);
  check_distinct_outputs(outputs);
  const auto formats = report_formats();
  for (std::size_t i = 0; i < formats.size(); ++i) {
    check_kind(formats[i].name, formats[i].extension, arguments.files[i]);
    if (arguments.files[i].empty() || formats[i].why_not == nullptr || formats[i].why_not().empty()) continue;
    throw Error("--" + std::string(formats[i].name) + ": " + std::string(formats[i].why_not()));
  }
  check_kind("json", ".json", arguments.json);
  if (!arguments.json.empty()) json_.emplace_back(arguments.json);
  for (std::size_t i = 0; i < arguments.files.size(); ++i) {
    if (!arguments.files[i].empty()) reports_.emplace_back(i, OutputFile(arguments.files[i]));
  }
}

void ReportFiles::write(ReportedRun run, std::string_view training) {
  run.style = style_;
  for (OutputFile& file : json_) {
    write_timeline_json(
        run.timeline(), summary_, [&file](std::string_view piece) { file.write(piece); }, training);
    file.commit();
  }
  const auto formats = report_formats();
  for (auto& [format, written] : reports_) {
    OutputFile& file = written;
    formats[format].write(run, [&file](std::string_view piece) { file.write(piece); });
    file.commit();
  }
}

}  // namespace plumb
