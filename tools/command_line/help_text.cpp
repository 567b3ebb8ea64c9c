#include "tools/command_line/help_text.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "tools/command_line/examples.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

/// A table with at most this many options is short as a whole.
constexpr std::size_t kFewOptions = 10;
/// The widest column of names in the short help.
constexpr std::size_t kNameColumns = 30;

/// "-p, --devices N".
std::string names_of(const Option& option) {
  std::string names = (option.letter.empty() ? "" : "-" + option.letter + ", ") + "--" + option.name;
  if (option.kind != OptionKind::kFlag && !option.placeholder.empty()) names += " " + option.placeholder;
  return names;
}

std::size_t count_of(const OptionTable& options) {
  std::size_t count = 0;
  for (const OptionGroup& group : options.groups()) count += group.options.size();
  return count;
}

/// The title up to its first mark: "Costs" of "Costs: --cost, or ...".
std::string head_of(const OptionGroup& group) { return group.title.substr(0, group.title.find_first_of(":;,(")); }

std::vector<std::string> words_of(const OptionGroup& group) {
  std::vector<std::string> words = split(head_of(group), ' ');
  for (std::string& word : words) {
    std::ranges::transform(word, word.begin(), [](unsigned char letter) { return std::tolower(letter); });
  }
  return words;
}

std::string on_one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::string usage_text(const OptionTable& options, std::size_t columns) {
  const std::string label = "usage: ";
  return label + wrapped("plumbline " + options.usage(), columns, label.size()) + "\n";
}

/// A row for each option; the names take a column as wide as the widest, but a third of all at most.
std::string rows_text(const std::vector<Option>& options, std::size_t columns) {
  std::size_t width = 0;
  for (const Option& option : options) width = std::max(width, names_of(option).size());
  const std::size_t text_at = std::min(width, columns / 3) + 3;
  std::string text;
  for (const Option& option : options) {
    const std::string names = "  " + names_of(option);
    text += names;
    text += names.size() < text_at ? std::string(text_at - names.size(), ' ') : "\n" + std::string(text_at, ' ');
    text += wrapped(option.help, columns, text_at) + "\n";
  }
  return text;
}

std::string open_group_text(const OptionGroup& group) {
  return "\n" + wrapped(group.title + ":", help_columns()) + "\n" + rows_text(group.options, help_columns());
}

std::string closed_group_text(const OptionGroup& group) {
  std::string names = "  ";
  for (const Option& option : group.options) names += (names.size() > 2 ? " " : "") + ("--" + option.name);
  const std::string count = std::to_string(group.options.size());
  return "\n" +
         wrapped(head_of(group) + " (" + count + " options, explained by --help " + words_of(group).front() + "):",
                 help_columns()) +
         "\n" + wrapped(names, help_columns(), 2) + "\n";
}

/// The groups as the help shows them: `-h` and `--help` are the last ones of the last group.
std::vector<OptionGroup> shown_groups(const OptionTable& options) {
  std::vector<OptionGroup> groups;
  for (const OptionGroup& group : options.groups()) {
    if (!group.options.empty()) groups.push_back(group);
  }
  if (groups.empty() || groups.back().closed) groups.push_back({.title = "Options"});
  const bool has_closed = std::ranges::any_of(groups, &OptionGroup::closed);
  groups.back().options.push_back(
      {.name = "help",
       .letter = "h",
       .kind = OptionKind::kFlag,
       .help = has_closed ? "print this help; -h a short one, --help GROUP one group, --help all everything"
                          : "print this help; -h a short one"});
  return groups;
}

std::string head_text(const OptionTable& options) {
  return usage_text(options, help_columns()) + "\n" + examples_text(examples_of(options.usage())) +
         wrapped(on_one_line(options.summary()), help_columns()) + "\n";
}

std::string groups_text(const OptionTable& options, bool opens_all) {
  std::string text = head_text(options);
  for (const OptionGroup& group : shown_groups(options)) {
    text += group.closed && !opens_all ? closed_group_text(group) : open_group_text(group);
  }
  return text;
}

/// The first sentence on one line.
std::string first_sentence(const std::string& summary) {
  const std::string text = on_one_line(summary);
  const std::size_t end = text.find(". ");
  return end == std::string::npos ? text : text.substr(0, end + 1);
}

/// As many of the first clauses of `help` as fit.
std::string first_clauses(const std::string& help, std::size_t columns) {
  if (help.size() <= columns) return help;
  std::size_t end = 0;
  for (const std::string_view mark : {" (", "; ", ": ", ", "}) {
    for (std::size_t at = help.find(mark); at <= columns; at = help.find(mark, at + 1)) {
      const auto opened = std::count(help.begin(), help.begin() + static_cast<std::ptrdiff_t>(at), '(');
      const auto shut = std::count(help.begin(), help.begin() + static_cast<std::ptrdiff_t>(at), ')');
      if (opened == shut) end = std::max(end, at);
    }
  }
  if (end > 0) return help.substr(0, end);
  constexpr std::string_view kMore = " ...";
  return help.substr(0, help.rfind(' ', columns - kMore.size())) + std::string(kMore);
}

std::string short_rows_text(const OptionTable& options) {
  const bool all = count_of(options) <= kFewOptions;
  std::vector<const Option*> shown;
  std::size_t width = 0;
  for (const OptionGroup& group : options.groups()) {
    for (const Option& option : group.options) {
      if (!all && !option.is_brief) continue;
      shown.push_back(&option);
      width = std::max(width, std::min(names_of(option).size(), kNameColumns));
    }
  }
  std::string text;
  for (const Option* option : shown) {
    const std::string names = "  " + names_of(*option);
    const std::string gap(names.size() < width + 4 ? width + 4 - names.size() : 2, ' ');
    const std::size_t room = kShortHelpColumns - names.size() - gap.size();
    text += names + gap + first_clauses(option->brief_help.empty() ? option->help : option->brief_help, room) + "\n";
  }
  return text;
}

}  // namespace

std::string short_help_text(const OptionTable& options) {
  std::string text = usage_text(options, kShortHelpColumns) + "\n" +
                     wrapped(first_sentence(options.summary()), kShortHelpColumns, 0) + "\n";
  const std::string rows = short_rows_text(options);
  if (!rows.empty()) text += "\n" + rows;
  if (const Examples* examples = examples_of(options.usage())) text += "\n" + short_examples_text(*examples);
  const std::size_t count = count_of(options);
  if (count == 0) return text;
  return text + "\n--help for all " + std::to_string(count) + (count == 1 ? " option\n" : " options\n");
}

std::string help_text(const OptionTable& options) { return groups_text(options, false); }

std::string help_text(const OptionTable& options, const std::string& group) {
  if (group == "all") return groups_text(options, true);
  std::string text;
  std::vector<std::string> known;
  for (const OptionGroup& each : shown_groups(options)) {
    const std::vector<std::string> words = words_of(each);
    if (std::ranges::find(words, group) != words.end()) text += open_group_text(each);
    known.push_back(words.front());
  }
  if (const Option* option = options.find(group); text.empty() && option != nullptr) {
    text = "\n" + rows_text({*option}, help_columns());
  }
  if (text.empty()) {
    known.emplace_back("all");
    throw_unknown("group of the help of " + options.command(), group,
                  std::vector<std::string_view>(known.begin(), known.end()));
  }
  return usage_text(options, help_columns()) + text;
}

std::optional<std::string> asked_help(const OptionTable& options, const CommandLine& arguments) {
  if (const auto at = std::ranges::find(arguments, "--help"); at != arguments.end()) {
    const bool names_group = at + 1 != arguments.end() && !(at + 1)->starts_with("-");
    return names_group ? help_text(options, *(at + 1)) : help_text(options);
  }
  if (std::ranges::find(arguments, "-h") != arguments.end()) return short_help_text(options);
  return std::nullopt;
}

}  // namespace plumb
