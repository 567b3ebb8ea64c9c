#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "models/network/network_io.hpp"
#include "schedules/catalogue/registry.hpp"
#include "tools/command_line/examples.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/version.hpp"
#include "tools/options/option_table.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {
namespace {

/// A command as manuals and completions tell of it.
struct DescribedCommand {
  std::string name;         ///< "simulate", "device measure"
  std::string summary;      ///< half a line
  std::string usage;        ///< what follows the program's name
  std::string description;  ///< a paragraph
  std::vector<OptionGroup> groups{};
  std::vector<std::string>
      arguments{};  ///< placeholders of those without names; a "..." follows one that may be several

  /// All options of all groups.
  std::vector<Option> options() const;
};

/// What the value of an option or an argument is: where a completion finds the words.
enum class ValueKind { kNone, kOther, kFile, kSchedule, kNetwork, kCluster };

struct Subcommand {
  std::string_view command;
  std::string_view words;  ///< behind it, separated by spaces
};

/// Words behind which a command has other options.
constexpr std::array kSubcommands{Subcommand{"plan", "--method pipedream"}, Subcommand{"plan", "--jobs jobs.json"},
                                  Subcommand{"device", "measure"}, Subcommand{"device", "import"},
                                  Subcommand{"device", "fit"}};

DescribedCommand described(const std::string& name, const std::string& summary, const OptionTable& table) {
  DescribedCommand command{name, summary, table.usage(), table.summary()};
  command.groups = table.groups();
  for (const PositionalArgument& argument : table.arguments()) {
    command.arguments.push_back(argument.placeholder + (argument.several ? "..." : ""));
  }
  return command;
}

/// Has no options of its own.
constexpr std::string_view kOnlySubcommands = "device";

/// Adds the command of `words`; one that this program does not have is left out.
void add_command(const Command& command, const CommandLine& words, std::vector<DescribedCommand>& all) {
  const TableWatch watch([&](const OptionTable& table) {
    const std::string name = std::string(command.name) + (words.empty() ? "" : " " + words.front());
    all.push_back(described(name, std::string(command.summary), table));
  });
  try {
    command.run(words);
  } catch (const Error&) {  // a command of the trainer in a program without it, or one of subcommands alone
    if (words.empty())
      all.push_back({std::string(command.name), std::string(command.summary), std::string(command.name), ""});
  }
}

std::vector<Option> DescribedCommand::options() const {
  std::vector<Option> all;
  for (const OptionGroup& group : groups) all.insert(all.end(), group.options.begin(), group.options.end());
  return all;
}

/// Every command that this program has, in the order of the table, with the subcommands that have options of their own.
std::vector<DescribedCommand> described_commands(const std::vector<Command>& commands) {
  std::vector<DescribedCommand> all;
  for (const Command& command : commands) {
    if (command.name == kOnlySubcommands) {
      all.push_back(
          {std::string(command.name), std::string(command.summary), std::string(command.name) + " ACTION", ""});
    } else {
      add_command(command, {}, all);
    }
    for (const Subcommand& sub : kSubcommands) {
      if (sub.command == command.name) add_command(command, split(sub.words, ' '), all);
    }
  }
  return all;
}

// the manual

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
      std::string(".TH PLUMBLINE 1 \"\" \"plumbline ") + std::string(kVersion) + "\" \"User Commands\"\n" +
      ".nh\n.ad l\n.SH NAME\nplumbline \\- simulates, trains and compares pipeline\\-parallel training schedules\n"
      ".SH SYNOPSIS\n\\fBplumbline\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n"
      "Plumbline shows which pipeline\\-parallel training schedule to use and what it costs. It predicts the timeline, "
      "bubbles and\nmemory of a schedule, trains a model with the same schedule, and compares the two action by "
      "action.\n"
      ".PP\nEvery command prints its options with \\fB\\-\\-help\\fR.\n.SH COMMANDS\n";
  for (const DescribedCommand& command : commands) page += command_section(command);
  return page + example_section(commands) + std::string(kEnd);
}

// completions

ValueKind value_kind(const Option& option) {
  if (option.kind == OptionKind::kFlag) return ValueKind::kNone;
  if (option.name == "network") return ValueKind::kNetwork;
  if (option.name == "cluster") return ValueKind::kCluster;
  if (option.name == "schedule") return ValueKind::kSchedule;
  return option.placeholder.find("FILE") == std::string::npos ? ValueKind::kOther : ValueKind::kFile;
}

/// Of an argument of `command` with this placeholder.
ValueKind argument_kind(const DescribedCommand& command, const std::string& placeholder) {
  if (command.name == "networks") return ValueKind::kNetwork;
  if (command.name == "clusters") return ValueKind::kCluster;
  return placeholder.find("NAME") == std::string::npos ? ValueKind::kFile : ValueKind::kSchedule;
}

template <class Names>
std::string in_one_line(const Names& names) {
  std::string line;
  for (const auto& name : names) line += (line.empty() ? "" : " ") + std::string(name);
  return line;
}

std::string schedule_words() {
  std::vector<std::string_view> names;
  for (const ScheduleSpec& spec : schedule_catalogue()) names.push_back(spec.name);
  return in_one_line(names);
}

std::string command_words(const std::vector<DescribedCommand>& commands) {
  std::vector<std::string> names;
  for (const DescribedCommand& command : commands) {
    if (command.name.find(' ') == std::string::npos) names.push_back(command.name);
  }
  return in_one_line(names) + " help";
}

// bash

const char* bash_words(ValueKind kind) {
  switch (kind) {
    case ValueKind::kSchedule:
      return "$_plumbline_schedules";
    case ValueKind::kNetwork:
      return "$_plumbline_networks";
    case ValueKind::kCluster:
      return "$_plumbline_clusters";
    default:
      return "";
  }
}

/// "  'simulate --network') words=$_plumbline_networks files=yes ;;": what follows an option of a command.
std::string bash_values(const DescribedCommand& command) {
  std::string cases;
  for (const Option& option : command.options()) {
    const ValueKind kind = value_kind(option);
    if (kind == ValueKind::kNone) continue;
    std::string names = "'" + command.name + " --" + option.name + "'";
    if (!option.letter.empty()) names += " | '" + command.name + " -" + option.letter + "'";
    const std::string words = option.words.empty() ? std::string(bash_words(kind)) : in_one_line(option.words);
    cases += "    " + names + ") words=\"" + words + "\"" + (kind == ValueKind::kOther ? "" : " files=yes") + " ;;\n";
  }
  return cases;
}

std::string bash_options(const DescribedCommand& command) {
  std::vector<std::string> options;
  for (const Option& option : command.options()) options.push_back("--" + option.name);
  options.emplace_back("--help");
  const std::string argument =
      command.arguments.empty() ? "" : bash_words(argument_kind(command, command.arguments.front()));
  return "    '" + command.name + "') options='" + in_one_line(options) + "' words=\"" + argument + "\" ;;\n";
}

std::string bash_completion(const std::vector<DescribedCommand>& commands) {
  std::string values;
  std::string options;
  for (const DescribedCommand& command : commands) {
    values += bash_values(command);
    options += bash_options(command);
  }
  return "# Completion of plumbline for bash; made by `plumbline completion bash`.\n"
         "_plumbline_schedules='" +
         schedule_words() + "'\n_plumbline_networks='" + in_one_line(builtin_networks()) + "'\n_plumbline_clusters='" +
         in_one_line(builtin_clusters()) +
         "'\n"
         "_plumbline() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
         "  local words= options= files=\n"
         "  if [ \"$COMP_CWORD\" = 1 ]; then\n"
         "    mapfile -t COMPREPLY < <(compgen -W '" +
         command_words(commands) +
         "' -- \"$current\")\n"
         "    return\n"
         "  fi\n"
         "  [ \"$command\" != help ] || { mapfile -t COMPREPLY < <(compgen -W '" +
         command_words(commands) +
         "' -- \"$current\") && return; }\n"

         "  case \"$command\" in device) [ \"$COMP_CWORD\" -le 2 ] || command=\"device ${COMP_WORDS[2]}\" ;; esac\n"
         "  case \"$command $before\" in\n" +
         values +
         "    *)\n"
         "      case \"$command\" in\n" +
         options +
         "      esac\n"
         "      files=yes\n"
         "      case \"$current\" in -*) words=$options files= ;; esac ;;\n"
         "  esac\n"
         "  if [ \"$command $before\" = 'device device' ]; then words='measure import fit' files=; fi\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\" || :; [ -z \"$files\" ] || compgen -f -- "
         "\"$current\")\n"
         "}\n"
         "complete -o filenames -F _plumbline plumbline ./plumbline\n";
}

// zsh

/// `text` inside single quotes and brackets of a specification of _arguments.
std::string zsh_text(std::string_view text) {
  std::string quoted;
  for (const char letter : text) {
    if (letter == '\'')
      quoted += "'\\''";
    else if (letter == '[' || letter == ']' || letter == ':' || letter == '\\')
      (quoted += '\\') += letter;
    else
      quoted += letter == '\n' ? ' ' : letter;
  }
  return quoted;
}

const char* zsh_action(ValueKind kind) {
  switch (kind) {
    case ValueKind::kSchedule:
      return "_plumbline_schedules";
    case ValueKind::kNetwork:
      return "_plumbline_networks";
    case ValueKind::kCluster:
      return "_plumbline_clusters";
    case ValueKind::kFile:
      return "_files";
    default:
      return "( )";
  }
}

/// The values that an option is known to take, or those of its kind.
std::string zsh_values(const Option& option) {
  const ValueKind kind = value_kind(option);
  if (option.words.empty()) return zsh_action(kind);
  // An action behind a blank is called as it stands.
  return kind == ValueKind::kFile ? " _plumbline_words " + in_one_line(option.words)
                                  : "(" + in_one_line(option.words) + ")";
}

/// A function that completes names of one kind, and files.
std::string zsh_names(const std::string& kind, const std::string& names) {
  return "_plumbline_" + kind + "s() { _alternative '" + kind + "s:" + kind + ":(" + names +
         ")' 'files:file:_files' }\n";
}

std::string zsh_arguments(const DescribedCommand& command) {
  std::string specs;
  for (const Option& option : command.options()) {
    const std::string value =
        option.kind == OptionKind::kFlag ? "" : ":" + zsh_text(option.placeholder) + ":" + zsh_values(option);
    const std::string tail = "[" + zsh_text(option.help) + "]" + value + "'";
    specs += " \\\n        '*--" + option.name + tail;
    if (!option.letter.empty()) specs += " \\\n        '*-" + option.letter + tail;
  }
  specs += " \\\n        '--help[print help]'";
  if (!command.arguments.empty()) {
    specs += " \\\n        '*:" + zsh_text(command.arguments.front()) + ":" +
             zsh_action(argument_kind(command, command.arguments.front())) + "'";
  }
  return "      ('" + command.name + "')\n        _arguments -s" + specs + " ;;\n";
}

std::string zsh_completion(const std::vector<DescribedCommand>& commands) {
  std::string names;
  std::string cases;
  for (const DescribedCommand& command : commands) {
    if (command.name.find(' ') == std::string::npos) {
      names += "    '" + command.name + ":" + zsh_text(command.summary) + "'\n";
    }
    cases += zsh_arguments(command);
  }
  return "#compdef plumbline\n# Completion of plumbline for zsh; made by `plumbline completion zsh`.\n"
         "_plumbline_words() { _alternative \"words:word:($*)\" 'files:file:_files' }\n" +
         zsh_names("schedule", schedule_words()) + zsh_names("network", in_one_line(builtin_networks())) +
         zsh_names("cluster", in_one_line(builtin_clusters())) +
         "_plumbline() {\n"
         "  local -a commands=(\n" +
         names +
         "  )\n"
         "  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
         "  local command=$words[2]\n"
         "  if [[ $command == device && $CURRENT == 3 ]]; then compadd measure import fit; return; fi\n"
         "  if [[ $command == device ]]; then command=\"device $words[3]\"; shift words; (( "
         "CURRENT-- )); fi\n"
         "  shift words\n  (( CURRENT-- ))\n"
         "  case $command in\n" +
         cases +
         "  esac\n}\n"
         "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _plumbline \"$@\"; else compdef _plumbline plumbline; "
         "fi\n";
}

}  // namespace

ExitStatus run_manual(const CommandLine& arguments, const std::vector<Command>& commands) {
  OptionTable options("manual", "Prints the manual page, for `man -l -`.");
  if (!parse_command_line(options, arguments)) return ExitStatus::kDone;
  print(manual_page(described_commands(commands)));
  return ExitStatus::kDone;
}

ExitStatus run_completion(const CommandLine& arguments, const std::vector<Command>& commands) {
  OptionTable options("completion SHELL",
                      "Prints a script that completes command lines of plumbline: commands, options, names and files.\n"
                      "SHELL is bash or zsh.");
  std::string shell;
  options.positional(shell, "SHELL");
  if (!parse_command_line(options, arguments)) return ExitStatus::kDone;
  if (shell == "bash") {
    print(bash_completion(described_commands(commands)));
  } else if (shell == "zsh") {
    print(zsh_completion(described_commands(commands)));
  } else {
    throw_unknown("shell", shell, std::array<std::string_view, 2>{"bash", "zsh"});
  }
  return ExitStatus::kDone;
}

}  // namespace plumb
