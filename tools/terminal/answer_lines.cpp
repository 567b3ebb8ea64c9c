#include "tools/terminal/answer_lines.hpp"

#include <algorithm>

#include "tools/terminal/terminal.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

/// The end of the word of a shell that begins `text`: a blank between quotes is no end.
std::size_t shell_word_end(std::string_view text) {
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\'') quoted = !quoted;
    if (text[at] == ' ' && !quoted) return at;
  }
  return text.size();
}

}  // namespace

std::string verdict_text(std::string_view found) { return sentence_text(found) + "\n"; }

std::string sentence_text(std::string_view sentence) {
  return wrapped(sentence, static_cast<std::size_t>(terminal_columns())) + "\n";
}

std::string lines_within_terminal(std::string_view lines) {
  std::string text;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    text += std::string(indent, ' ') +
            wrapped(line.substr(indent), static_cast<std::size_t>(terminal_columns()), indent + 2) + "\n";
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return text;
}

std::string command_lines(std::string_view command, std::size_t columns, std::size_t indent) {
  constexpr std::string_view kBroken = " \\";
  const std::size_t room = columns - kBroken.size();
  std::string text;
  std::string line(indent, ' ');
  while (!command.empty()) {
    std::size_t end = shell_word_end(command);
    const bool is_option = command.front() == '-' && end < command.size() && command[end + 1] != '-';
    if (is_option) end += 1 + shell_word_end(command.substr(end + 1));  // with its value
    const std::string word(command.substr(0, end));
    command.remove_prefix(std::min(end + 1, command.size()));
    const bool begins = line.find_first_not_of(' ') == std::string::npos;
    if (!begins && display_width(line) + 1 + display_width(word) > room) {
      text += line + std::string(kBroken) + "\n";
      line = std::string(indent + 4, ' ') + word;
    } else {
      line += (begins ? "" : " ") + word;
    }
  }
  return text + line + "\n";
}

std::string next_text(std::string_view command) {
  if (command.empty()) return "";
  return "\nnext:\n" + command_lines(command, static_cast<std::size_t>(terminal_columns()), 2);
}

}  // namespace plumb
