#include "tools/options/report_arguments.hpp"

#include <algorithm>

#include "sim/timeline/timeline_io.hpp"

namespace plumb {

ReportArguments::ReportArguments() : files(report_formats().size()) {}

void ReportArguments::add_to(ArgumentParser& parser) {
  parser.group("Output (- is standard output)")
      .flag("summary", summary,
            "print the figures only, without the drawing; --json then has no spans and no memory curve")
      .text("json", json, "FILE", "the whole timeline as JSON (sim/timeline/TIMELINE_DOCUMENT.md)");
  const auto formats = report_formats();
  for (std::size_t i = 0; i < formats.size(); ++i) {
    parser.text(std::string(formats[i].name), files[i], "FILE", std::string(formats[i].summary));
  }
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

ReportFiles::ReportFiles(const ReportArguments& arguments, const std::string& other) : summary_(arguments.summary) {
  std::vector<std::string> outputs = arguments.outputs();
  outputs.push_back(other);
  check_distinct_outputs(outputs);
  if (!arguments.json.empty()) json_.emplace_back(arguments.json);
  for (std::size_t i = 0; i < arguments.files.size(); ++i) {
    if (!arguments.files[i].empty()) reports_.emplace_back(i, OutputFile(arguments.files[i]));
  }
}

void ReportFiles::write(const ReportedRun& run, std::string_view training) {
  for (OutputFile& file : json_) {
    write_timeline_json(
        run.timeline(), summary_, [&file](std::string_view piece) { file.write(piece); }, training);
    file.commit();
  }
  const auto formats = report_formats();
  for (auto& [format, file] : reports_) file.finish(formats[format].make(run));
}

}  // namespace plumb
