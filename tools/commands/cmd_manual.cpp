#include <string>
#include <string_view>
#include <vector>

#include "tools/command_line/examples.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/described_command.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {
namespace {

/// `text` as troff prints it: no line is taken for a request, and hyphens stay what can be copied.
std::string roff(std::string_view text) {
  std::string escaped;
  bool begins = true;
  for (const char letter : text) {
    if (begins && (letter == '.' || letter == '\'')) escaped += "\\&";
    if (letter == '\\')
      escaped += "\\e";
    else if (letter == '-')
      escaped += "\\-";
    else
      escaped += letter;
    begins = letter == '\n';
  }
  return escaped;
}

std::string option_entry(const Option& option) {
  std::string names = option.letter.empty() ? "" : "\\fB\\-" + option.letter + "\\fR, ";
  names += "\\fB\\-\\-" + roff(option.name) + "\\fR";
  if (!option.placeholder.empty()) names += " \\fI" + roff(option.placeholder) + "\\fR";
  return ".TP\n" + names + "\n" + roff(option.help) + "\n";
}

std::string command_section(const DescribedCommand& command) {
  std::string text = ".SS \"plumbline " + roff(command.usage) + "\"\n";
  text += roff(command.description.empty() ? command.summary : command.description) + "\n";
  for (const OptionGroup& group : command.groups) {
    if (group.options.empty()) continue;
    if (!group.title.empty()) text += ".PP\n" + roff(group.title) + "\n";
    for (const Option& option : group.options) text += option_entry(option);
  }
  return text;
}

std::string example_section(const std::vector<DescribedCommand>& commands) {
  std::string text = ".SH EXAMPLES\n";
  for (const DescribedCommand& command : commands) {
    const Examples* examples = examples_of(command.usage);
    if (examples == nullptr) continue;
    const Example& first = examples->front();
    text += ".TP\n\\fBplumbline " + roff(first.command) + "\\fR\n" + roff(first.meaning) + "\n";
  }
  return text;
}

constexpr std::string_view kEnd =
    ".SH \"EXIT STATUS\"\n"
    ".TP\n0\nDone.\n.TP\n1\nA bug in Plumbline.\n"
    ".TP\n2\nThe input is wrong; one line on standard error says where, what, and what was expected.\n"
    ".TP\n3\nThe answer is no: an invalid schedule, a deadlock, a job that does not fit in memory, an error above the "
    "bound.\n"
    ".TP\n4\nThere is no answer: what was measured is too noisy.\n"
    ".SH ENVIRONMENT\n"
    ".TP\n\\fBNO_COLOR\\fR\nNo colours on a terminal.\n"
    ".TP\n\\fBCOLUMNS\\fR\nHow wide drawings are.\n";

std::string manual_page(const std::vector<DescribedCommand>& commands) {
  std::string page =
      std::string(".TH PLUMBLINE 1 \"\" \"plumbline ") + PLUMB_VERSION + "\" \"User Commands\"\n" +
      ".nh\n.ad l\n.SH NAME\nplumbline \\- simulates, trains and compares pipeline\\-parallel training schedules\n"
      ".SH SYNOPSIS\n\\fBplumbline\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n"
      "Plumbline shows which pipeline\\-parallel training schedule to use and what it costs. It predicts the timeline, "
      "bubbles and\nmemory of a schedule, trains a model with the same schedule, and compares the two action by "
      "action.\n"
      ".PP\nEvery command prints its options with \\fB\\-\\-help\\fR.\n.SH COMMANDS\n";
  for (const DescribedCommand& command : commands) page += command_section(command);
  return page + example_section(commands) + std::string(kEnd);
}

}  // namespace

ExitStatus run_manual(const CommandLine& arguments, const std::vector<Command>& commands) {
  OptionTable options("manual", "Prints the manual page, for `man -l -`.");
  if (!parse_command_line(options, arguments)) return ExitStatus::kDone;
  print(manual_page(described_commands(commands)));
  return ExitStatus::kDone;
}

}  // namespace plumb
