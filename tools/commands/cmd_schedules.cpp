#include <algorithm>
#include <array>
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
#include "tools/options/plan_runtimes.hpp"
#include "tools/terminal/answer_lines.hpp"
#include "tools/terminal/notes.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/terminal.hpp"
#include "tools/terminal/text_table.hpp"
#include "tools/terminal/words.hpp"

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

std::string catalogue_table(const Rows& specs) {
  TextTable table({{"name"},
                   {.title = "year", .align = '>', .spare = true},
                   {"updates"},
                   {.title = "weights", .spare = true},
                   {.title = "placement", .spare = true},
                   {"what it does"}});
  for (const ScheduleSpec* spec : specs) {
    table.add_row({std::string(spec->name), std::to_string(spec->year), kind_of_updates(*spec),
                   std::string(spec->weights), std::string(spec->placement), std::string(spec->summary)});
  }
  return table.to_string() + "\n" +
         sentence_text(
             "`plumbline schedules NAME` prints what a schedule needs, its options, an example and its source.");
}

std::string pages_text(const Rows& specs) {
  std::string text;
  for (const ScheduleSpec* spec : specs) {
    text += (text.empty() ? "" : "\n\n") + schedule_page_text(*spec, wants_colour());
  }
  return text;
}

/// The rules of schedules, to be copied and changed. Throws `Error` for one that has none.
std::string rules_text(const Rows& specs) {
  std::string text;
  for (const ScheduleSpec* spec : specs) {
    if (spec->rules_text.empty()) {
      throw Error(std::string(spec->name) + ": is no rule of its sizes alone, expected a schedule with rules");
    }
    text += (text.empty() ? "" : "\n") + std::string(spec->rules_text);
  }
  return text;
}

/// Returns the rows of `specs` that the system called `name` can run; all of them for an empty name. Throws `Error`
/// for an unknown system.
Rows running_in(const std::string& name, Rows specs) {
  const PlanRuntime* runtime = plan_runtime(name);
  if (runtime == nullptr) return specs;
  std::erase_if(specs, [&](const ScheduleSpec* spec) { return !has_schedule(*runtime, *spec); });
  return specs;
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

ExitStatus run_list(const CommandLine& arguments) {
  struct Kind {
    std::string_view name;
    ExitStatus (*run)(const CommandLine& arguments);
  };
  constexpr std::array kKinds{Kind{"schedules", run_schedules}, Kind{"models", run_networks},
                              Kind{"clusters", run_clusters}};
  const std::string word = arguments.empty() ? "" : arguments.front();
  for (const Kind& kind : kKinds) {
    if (word == kind.name) return kind.run({arguments.begin() + 1, arguments.end()});
  }
  OptionTable parser("list schedules|models|clusters [NAME]... [options]",
                     "Lists the built-in schedules, models or clusters, or describes them by name.\n"
                     "`plumbline list schedules --help` and so on list the options of each.");
  std::vector<std::string> given;
  parser.positionals(given, 0, "schedules|models|clusters");
  const bool is_help = word == "--help" || word == "-h";
  if ((is_help || TableWatch::current() != nullptr) && !parse_command_line(parser, arguments)) return ExitStatus::kDone;
  constexpr std::array<std::string_view, 3> kNames{"schedules", "models", "clusters"};
  if (!nearest_name(word, kNames).empty()) throw_unknown("list", word, kNames);
  note("plumbline: note: 'list' is read as 'list schedules'");
  return run_schedules(arguments);
}

ExitStatus run_schedules(const CommandLine& arguments) {
  OptionTable parser("schedules [NAME]... [options]",
                     "Lists the schedules that Plumbline knows. With names, prints a page about each: what it needs,\n"
                     "all its options, an example drawn in characters, and its source. `1F1B` means `1f1b`.");
  std::vector<std::string> names;
  std::string pages;
  bool json = false;
  bool only_names = false;
  bool rules = false;
  std::string system;
  parser.positionals(names, 0, "NAME")
      .flag("json", json, "print JSON with everything known about each schedule")
      .flag("rules", rules, "print the rules of each NAME, which a FILE.rules may hold and change")
      .text("runs-in", system, "SYSTEM", "list only what megatron, pytorch, torchtitan or deepspeed can run")
      .words(plan_runtime_names())
      .flag("names", only_names, "print only the names, one per line")
      .text("pages", pages, "DIR", "write the pages of all schedules, and a table of them, as Markdown files");
  if (!parse_command_line(parser, arguments)) return ExitStatus::kDone;
  if (!pages.empty() && !names.empty()) throw Error("--pages: writes all schedules, expected no NAME with it");
  if (rules && names.empty()) throw Error("--rules: prints those of schedules, expected a NAME");
  const Rows rows = running_in(system, schedules_called(names));
  if (rules) {
    print(rules_text(rows));
  } else if (!pages.empty()) {
    write_pages(pages);
  } else if (json || only_names) {
    print(json ? schedules_json(rows) : catalogue_names(rows));
  } else {
    print(names.empty() ? catalogue_table(rows) : pages_text(rows));
  }
  return ExitStatus::kDone;
}

}  // namespace plumb
