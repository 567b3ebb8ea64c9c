#include "tools/command_line/parse_command_line.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <boost/program_options.hpp>

#include "models/ground/error.hpp"
#include "models/ground/text_stream.hpp"
#include "tools/command_line/examples.hpp"
#include "tools/command_line/other_words.hpp"
#include "tools/command_line/table_watch.hpp"
#include "tools/options/report_arguments.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {
namespace po = boost::program_options;

namespace {

constexpr const char* kPositional = "positional arguments";
constexpr const char* kHelp = "help";
constexpr unsigned kHelpWidth = 110;

po::typed_value<std::vector<std::string>>* texts_value(const std::string& placeholder) {
  return po::value<std::vector<std::string>>()->value_name(placeholder)->composing();
}

/// The groups as Boost has them; `--help` is the last option of the last group.
std::vector<po::options_description> boost_groups(const OptionTable& table) {
  std::vector<po::options_description> groups;
  for (const OptionGroup& group : table.groups()) {
    po::options_description& options = groups.emplace_back(group.title, kHelpWidth, kHelpWidth / 2);
    for (const Option& option : group.options) {
      const std::string names = option.name + (option.letter.empty() ? "" : "," + option.letter);
      if (option.kind == OptionKind::kFlag) {
        options.add_options()(names.c_str(), new po::untyped_value(true), option.help.c_str());
      } else {
        options.add_options()(names.c_str(), texts_value(option.placeholder), option.help.c_str());
      }
    }
  }
  groups.back().add_options()("help,h", new po::untyped_value(true), "print this help");
  return groups;
}

po::variables_map run_boost(const CommandLine& arguments, const OptionTable& table) {
  po::options_description all;
  for (const po::options_description& group : boost_groups(table)) all.add(group);
  for (const std::string& name : table.retired()) all.add_options()(name.c_str(), new po::untyped_value(true), "");
  all.add_options()(kPositional, po::value<std::vector<std::string>>()->composing());
  po::positional_options_description positional;
  positional.add(kPositional, -1);
  const int style = po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
  po::variables_map values;
  try {
    po::store(po::command_line_parser(arguments).options(all).positional(positional).style(style).run(), values);
  } catch (const po::unknown_option& error) {
    if (error.get_option_name() == "--png" && table.find("svg") != nullptr) {
      throw Error(table.command() + ": --png: " + std::string(kNoPng));
    }
    const std::string& name = error.get_option_name();
    throw Error("unknown " + table.command() + " option '" + name + "'" + unknown_option_text(name, table));
  } catch (const po::error& error) {
    throw Error(table.command() + ": " + error.what());
  }
  return values;
}

std::vector<std::string> texts_of(const po::variable_value& value) {
  if (value.empty()) return {};
  const auto* given = boost::any_cast<std::vector<std::string>>(&value.value());
  return given == nullptr ? std::vector<std::string>{} : *given;
}

/// Throws `Error` for `-p 8 --devices 16`: whoever wrote both meant two things.
void check_one_spelling(const CommandLine& arguments, const OptionTable& table, const Option& option) {
  if (option.letter.empty() || option.kind == OptionKind::kTexts) return;
  const auto given = [&](const std::string& spelling) {
    return std::ranges::any_of(arguments, [&](const std::string& argument) { return argument.starts_with(spelling); });
  };
  if (!given("-" + option.letter) || !given("--" + option.name)) return;
  std::string message = table.command() + ": -" + option.letter + " and --" + option.name + " are one option (" +
                        option.help.substr(0, option.help.find(" (")) + "), expected one of them";
  if (option.name == "devices" && table.find("cluster") != nullptr) {
    message += "; how many devices the cluster has is said by its name, as in --cluster h100-2x8";
  }
  throw Error(message);
}

/// Boost leaves a space at the end of a line that it breaks.
std::string without_trailing_spaces(const std::string& text) {
  std::string kept;
  for (const char letter : text) {
    if (letter == '\n') kept.erase(kept.find_last_not_of(' ') + 1);
    kept += letter;
  }
  return kept;
}

}  // namespace

std::string help_text(const OptionTable& options) {
  TextStream out;
  out << "usage: plumbline " << options.usage() << "\n\n"
      << examples_text(examples_of(options.usage())) << options.summary() << '\n';
  for (const po::options_description& group : boost_groups(options)) {
    if (!group.options().empty()) out << '\n' << group;
  }
  return without_trailing_spaces(out.str());
}

bool parse_command_line(const OptionTable& options, const CommandLine& arguments) {
  if (const TableWatch::See* see = TableWatch::current()) {
    (*see)(options);
    return false;
  }
  // Before anything is refused, and also where an option lacks its value: `plan --jobs --help`.
  const auto asks_for_help = [](const std::string& word) { return word == std::string("--") + kHelp || word == "-h"; };
  if (std::ranges::any_of(arguments, asks_for_help)) {
    print(help_text(options));
    return false;
  }
  const CommandLine ours = in_our_words(arguments, options);
  const po::variables_map values = run_boost(ours, options);
  for (const OptionGroup& group : options.groups()) {
    for (const Option& option : group.options) {
      const po::variable_value& value = values[option.name];
      if (value.empty()) continue;
      check_one_spelling(ours, options, option);
      option.take(texts_of(value), options.command() + ": --" + option.name);
    }
  }
  options.take_positionals(texts_of(values[kPositional]));
  return true;
}

}  // namespace plumb
