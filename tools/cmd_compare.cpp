#include <iostream>
#include <optional>

#include "models/error.hpp"
#include "models/text_file.hpp"
#include "sim/compare.hpp"
#include "sim/timeline_io.hpp"
#include "tools/arguments.hpp"
#include "tools/command.hpp"
#include "tools/comparison_text.hpp"
#include "tools/output_file.hpp"
#include "tools/report_html.hpp"

namespace plumb {
namespace {

struct CompareArguments {
  std::string first;
  std::vector<std::string> others;
  std::string html;
  std::string json;
  std::string max_error;
  bool memory_exact = false;

  bool parse(const CommandLine& arguments) {
    ArgumentParser parser(
        "compare A B... [options]",
        "Lays timeline A (JSON of simulate or train) over B: predicted and measured, or two schedules.\n"
        "Several B are runs of the same thing: A is compared with their median.");
    parser.positional(first, "A")
        .positionals(others, 1, "B")
        .text("html", html, "FILE", "one page to explore both in a browser")
        .text("json", json, "FILE", "everything, for programs (- is standard output)")
        .text("max-error", max_error, "X%",
              "exit status 3 when the step time is off by more, or the runs spread by more")
        .flag("memory-exact", memory_exact, "exit status 3 when peaks differ by a byte");
    return parser.parse(arguments);
  }

  CompareOptions options() const {
    CompareOptions options;
    options.memory_exact = memory_exact;
    if (max_error.empty()) return options;
    const bool percent = max_error.ends_with('%');
    const double value = parse_real(percent ? max_error.substr(0, max_error.size() - 1) : max_error, "--max-error");
    if (value < 0) throw Error("--max-error: '" + max_error + "' is negative, expected a share such as 5%");
    options.max_error = percent ? value / 100 : value;
    return options;
  }
};

Timeline read_timeline(const std::string& path) {
  return timeline_from_json(read_text_file(path == "-" ? "/dev/stdin" : path), path);
}

/// "1f1b, measured"; the file's name when the timeline has none.
std::string title(const Timeline& timeline, const std::string& path) {
  const char* kind = timeline.kind == Timeline::Kind::kMeasured ? ", measured" : ", simulated";
  return (timeline.schedule.empty() ? path : timeline.schedule) + kind;
}

std::string page(const CompareArguments& arguments, const Timeline& first, const std::vector<Timeline>& others) {
  HtmlReport report{.title = title(first, arguments.first) + " and " + title(others.front(), arguments.others.front()),
                    .note = {},
                    .sections = {}};
  for (std::size_t i = 0; i < others.size(); ++i) {
    report.sections.push_back({.title = title(others[i], arguments.others[i]),
                               .note = arguments.first + " and " + arguments.others[i],
                               .first = &first,
                               .second = &others[i]});
  }
  return html_report(report);
}

/// Says what was asked for; the rest of the answer is in the tables.
ExitStatus tell_verdict(const Comparison& comparison) {
  for (const std::string& finding : comparison.findings) std::cerr << finding << '\n';
  const bool refused = comparison.verdict == Verdict::kFail || comparison.verdict == Verdict::kNoisy;
  return refused ? ExitStatus::kNo : ExitStatus::kDone;
}

}  // namespace

ExitStatus run_compare(const CommandLine& command_line) {
  CompareArguments arguments;
  if (!arguments.parse(command_line)) return ExitStatus::kDone;
  const CompareOptions options = arguments.options();
  const Timeline first = read_timeline(arguments.first);
  std::vector<Timeline> others;
  for (const std::string& path : arguments.others) others.push_back(read_timeline(path));
  std::optional<OutputFile> html;
  std::optional<OutputFile> json;
  if (!arguments.html.empty()) html.emplace(arguments.html);
  if (!arguments.json.empty()) json.emplace(arguments.json);
  const Comparison comparison = compare(first, others, options);
  if (html) html->finish(page(arguments, first, others));
  if (json) json->finish(comparison_to_json(comparison));
  if (arguments.json != "-" && arguments.html != "-") {
    const auto name = [](const Timeline& timeline) {
      return timeline.kind == Timeline::Kind::kMeasured ? "measured" : "simulated";
    };
    print(comparison_text(comparison, name(first), name(others.front())));
  }
  return tell_verdict(comparison);
}

}  // namespace plumb
