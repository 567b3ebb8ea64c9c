#include <cstring>
#include <filesystem>

#include "models/ground/disk.hpp"
#include "models/ground/error.hpp"
#include "schedules/catalogue/registry.hpp"
#include "tools/catalogue/catalogue_json.hpp"
#include "tools/catalogue/schedule_page.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/options/option_table.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/terminal.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

using Rows = std::vector<const ScheduleSpec*>;

std::string catalogue_names(const Rows& specs) {
  std::string text;
  for (const ScheduleSpec* spec : specs) text += std::string(spec->name) + "\n";
  return text;
}

std::string kind_of_updates(const ScheduleSpec& spec) {
  if (spec.inference) return "none: inference";
  return spec.synchronous ? "synchronous" : "asynchronous";
}

std::string catalogue_table() {
  TextTable table({{"name"}, {"year", '>'}, {"updates"}, {"weights"}, {"placement"}, {"what it does"}});
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    table.add_row({std::string(spec.name), std::to_string(spec.year), kind_of_updates(spec), std::string(spec.weights),
                   std::string(spec.placement), std::string(spec.summary)});
  }
  return table.to_string() +
         "\n`plumbline schedules NAME` prints what a schedule needs, its options, an example and its source.\n";
}

std::string pages_text(const Rows& specs) {
  std::string text;
  for (const ScheduleSpec* spec : specs) {
    text += (text.empty() ? "" : "\n\n") + schedule_page_text(*spec, wants_colour());
  }
  return text;
}

/// Writes an index and a page for every schedule.
void write_pages(const std::filesystem::path& folder) {
  if (const int reason = disk::make_folder(folder); reason != 0) {
    throw Error(folder.string() + ": cannot make the folder: " + std::strerror(reason));
  }
  OutputFile((folder / "README.md").string()).finish(schedule_index_markdown());
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    OutputFile((folder / (std::string(spec.name) + ".md")).string()).finish(schedule_page_markdown(spec));
  }
}

}  // namespace

ExitStatus run_schedules(const CommandLine& arguments) {
  OptionTable parser("schedules [NAME]... [options]",
                     "Lists the schedules that Plumbline knows. With names, prints a page about each: what it needs,\n"
                     "all its options, an example drawn in characters, and its source. `1F1B` means `1f1b`.");
  std::vector<std::string> names;
  std::string pages;
  bool json = false;
  bool only_names = false;
  parser.positionals(names, 0, "NAME")
      .flag("json", json, "print JSON with everything known about each schedule")
      .flag("names", only_names, "print only the names, one per line")
      .text("pages", pages, "DIR", "write the pages of all schedules, and a table of them, as Markdown files");
  if (!parse_command_line(parser, arguments)) return ExitStatus::kDone;
  if (!pages.empty() && !names.empty()) throw Error("--pages: writes all schedules, expected no NAME with it");
  const Rows rows = schedules_called(names);
  if (!pages.empty()) {
    write_pages(pages);
  } else if (json || only_names) {
    print(json ? schedules_json(rows) : catalogue_names(rows));
  } else {
    print(names.empty() ? catalogue_table() : pages_text(rows));
  }
  return ExitStatus::kDone;
}

}  // namespace plumb
