#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/options/option_table.hpp"
#include "tools/reports/picture_style.hpp"
#include "tools/reports/reports.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {

/// Said to who asks a command for a PNG that has SVG only.
inline constexpr std::string_view kNoPng =
    "diagrams are written as SVG; for PNG convert one: `rsvg-convert -z 2 a.svg -o a.png`";

/// The files that a command writes, each with the option that names it: declared with the others, opened before the
/// work that fills them.
class OutputFiles {
 public:
  /// Declares `name`; this object must outlive the parsing.
  OutputFiles& add_to(OptionTable& parser, const std::string& name, const std::string& help);
  /// Throws `Error` when a file that was asked for cannot be written, or two are the same.
  void open();
  /// The path that was given for the option; empty: none.
  const std::string& path(std::string_view name) const;
  /// The opened file; null where none was asked for.
  OutputFile* file(std::string_view name);
  /// Fills the file where it was asked for.
  void finish(std::string_view name, const std::function<std::string()>& make);
  /// Whether standard output belongs to one of them, so that nothing else may be printed there.
  bool take_standard_output() const;

 private:
  struct Named {
    std::string name;  ///< "output"
    std::string path{};
    std::optional<OutputFile> file{};
  };

  std::deque<Named> files_;  ///< the table has the addresses of their paths
};

/// Options for the files that a timeline is written to: `--json FILE` and one option per row of the report table.
struct ReportArguments {
  bool summary = false;
  std::string json;
  std::vector<std::string> files;  ///< by row of `report_formats()`; empty: not requested
  PictureStyle style;

  ReportArguments();

  /// Declares the options; this object must outlive the parsing.
  void add_to(OptionTable& parser);

  /// Whether standard output belongs to a report, so that nothing else may be printed there.
  bool takes_standard_output() const;
  /// Whether any report was requested.
  bool any() const;
  /// All files; empty where a report was not requested.
  std::vector<std::string> outputs() const;
  /// Throws `Error` when a report that was requested cannot show as many spans as a run of `schedule` has.
  void check_size(const Schedule& schedule) const;
  /// Whether a report needs spans and the memory curve.
  bool needs_spans() const;
};

/// Declares the width and the caption of pictures; `style` must outlive the parsing.
void add_picture_style_to(OptionTable& parser, PictureStyle& style);

/// The files of a `ReportArguments`, opened before the work that fills them.
class ReportFiles {
 public:
  /// `other` is one more file that the command writes. Throws `Error` when a file cannot be written, or two are the
  /// same.
  ReportFiles(const ReportArguments& arguments, const std::string& other);

  /// Writes all reports of `run`; JSON has the step that is shown. `training`: sim/timeline/timeline_io.hpp.
  void write(ReportedRun run, std::string_view training = {});

 private:
  bool summary_;
  PictureStyle style_;
  std::vector<OutputFile> json_;                             ///< one or none
  std::vector<std::pair<std::size_t, OutputFile>> reports_;  ///< with the row of the format
};

}  // namespace plumb
