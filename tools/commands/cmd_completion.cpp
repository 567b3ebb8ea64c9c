#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "models/network/network_io.hpp"
#include "schedules/catalogue/registry.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/described_command.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {
namespace {

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
