#include "models/launches/shell_tokens.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

constexpr std::size_t kDeepest = 64;  ///< units inside of each other

bool is_shell_space(char letter) { return letter == ' ' || letter == '\t' || letter == '\r'; }
bool ends_word(char letter) {
  return is_shell_space(letter) || std::string_view("\n;&|()<>").find(letter) != std::string_view::npos;
}

std::size_t unit_end(std::string_view text, std::size_t at, std::size_t depth);

/// Returns the place behind the `close` that ends what begins at `at`.
std::size_t closed(std::string_view text, std::size_t at, char close, std::size_t depth) {
  std::size_t open = 1;
  while (at < text.size()) {
    const char letter = text[at];
    if (letter == '\\') {
      at += 2;
      continue;
    }
    if (close == ')' && letter == '(') ++open;
    if (letter == close && --open == 0) return at + 1;
    const std::size_t end = unit_end(text, at, depth + 1);
    if (end == std::string_view::npos) return end;
    at = std::max(end, at + 1);
  }
  return std::string_view::npos;
}

std::size_t unit_end(std::string_view text, std::size_t at, std::size_t depth) {
  if (depth > kDeepest || at >= text.size()) return depth > kDeepest ? std::string_view::npos : at;
  const auto behind = [&](std::size_t found) { return found == std::string_view::npos ? found : found + 1; };
  switch (text[at]) {
    case '\'':
      return behind(text.find('\'', at + 1));
    case '`':
      return behind(text.find('`', at + 1));
    case '$':
      if (at + 1 < text.size() && text[at + 1] == '{') return closed(text, at + 2, '}', depth);
      if (at + 1 < text.size() && text[at + 1] == '(') return closed(text, at + 2, ')', depth);
      return at;
    case '"':
      break;
    default:
      return at;
  }
  for (++at; at < text.size();) {
    if (text[at] == '\\') {
      at += 2;
    } else if (text[at] == '"') {
      return at + 1;
    } else if (text[at] == '\'') {
      ++at;
    } else {
      const std::size_t end = unit_end(text, at, depth + 1);
      if (end == std::string_view::npos) return end;
      at = std::max(end, at + 1);
    }
  }
  return std::string_view::npos;
}

class ShellLexer {
 public:
  ShellLexer(std::string_view script, const std::string& name, std::size_t line)
      : script_(script), name_(name), line_(line) {}

  std::vector<ShellToken> all() {
    while (at_ < script_.size()) next();
    if (in_array_) fail("expected ) at the end of an array");
    return std::move(tokens_);
  }

 private:
  struct HereText {
    std::string end;
    bool quoted = false;
    bool indented = false;
    std::size_t token = 0;
  };

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(name_ + ":" + std::to_string(line_) + ": " + what);
  }

  void add(ShellToken::Kind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_, false}); }

  void next() {
    const char letter = script_[at_];
    if (is_shell_space(letter)) {
      ++at_;
    } else if (letter == '\\' && at_ + 1 < script_.size() && (script_[at_ + 1] == '\n' || script_[at_ + 1] == '\r')) {
      at_ += script_[at_ + 1] == '\r' ? 3 : 2;
      ++line_;
    } else if (letter == '#') {
      at_ = std::min(script_.find('\n', at_), script_.size());
    } else if (letter == '\n') {
      end_line();
    } else if (ends_word(letter)) {
      read_operator();
    } else {
      read_word();
    }
  }

  void end_line() {
    if (!in_array_) add(ShellToken::Kind::kOperator, "\n");
    ++at_;
    ++line_;
    for (const HereText& here : std::exchange(waiting_, {})) read_here_text(here);
  }

  void read_operator() {
    static constexpr std::array<std::string_view, 15> kOperators{"<<<", "<<-", "&>>", ";;", "&&", "||", "<<", ">>",
                                                                 ">&",  "<&",  "&>",  ";",  "&",  "|",  "("};
    if (in_array_ && script_[at_] == ')') {
      in_array_ = false;
      add(ShellToken::Kind::kArrayEnd, ")");
      ++at_;
      return;
    }
    std::string text(1, script_[at_]);
    for (const std::string_view one : kOperators) {
      if (script_.substr(at_).starts_with(one)) {
        text = one;
        break;
      }
    }
    at_ += text.size();
    const bool here = text == "<<" || text == "<<-";
    add(ShellToken::Kind::kOperator, std::move(text));
    if (here) begin_here_text(script_[at_ - 1] == '-');
  }

  void begin_here_text(bool indented) {
    while (at_ < script_.size() && is_shell_space(script_[at_])) ++at_;
    HereText here;
    here.indented = indented;
    for (; at_ < script_.size() && !ends_word(script_[at_]); ++at_) {
      const char letter = script_[at_];
      if (letter == '"' || letter == '\'' || letter == '\\') {
        here.quoted = true;
      } else {
        here.end += letter;
      }
    }
    here.token = tokens_.size();
    tokens_.push_back({ShellToken::Kind::kHereText, "", line_, here.quoted});
    waiting_.push_back(std::move(here));
  }

  void read_here_text(const HereText& here) {
    std::string& text = tokens_[here.token].text;
    while (at_ < script_.size()) {
      const std::size_t end = std::min(script_.find('\n', at_), script_.size());
      std::string_view line = script_.substr(at_, end - at_);
      at_ = std::min(end + 1, script_.size());
      ++line_;
      if (here.indented) line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line == here.end) return;
      text += std::string(line) + "\n";
    }
  }

  void read_word() {
    const std::size_t begin = at_;
    const std::size_t first = line_;
    while (at_ < script_.size() && !ends_word(script_[at_])) {
      if (script_[at_] == '\\') {
        at_ = std::min(at_ + 2, script_.size());
        continue;
      }
      const std::size_t end = shell_unit_end(script_, at_);
      if (end == std::string_view::npos) fail(std::string("expected the end of what begins with ") + script_[at_]);
      at_ = std::max(end, at_ + 1);
      if (script_[at_ - 1] == '=' && at_ < script_.size() && script_[at_] == '(' && !in_array_)
        return begin_array(begin);
    }
    const std::string_view word = script_.substr(begin, at_ - begin);
    line_ += static_cast<std::size_t>(std::ranges::count(word, '\n'));
    tokens_.push_back({ShellToken::Kind::kWord, std::string(word), first, false});
  }

  void begin_array(std::size_t begin) {
    add(ShellToken::Kind::kArray, std::string(script_.substr(begin, at_ - begin)));
    ++at_;
    in_array_ = true;
  }

  std::string_view script_;
  const std::string& name_;
  std::size_t line_;
  std::size_t at_ = 0;
  bool in_array_ = false;
  std::vector<HereText> waiting_;
  std::vector<ShellToken> tokens_;
};

}  // namespace

std::size_t shell_unit_end(std::string_view text, std::size_t at) { return unit_end(text, at, 0); }

std::vector<ShellToken> shell_tokens(std::string_view script, const std::string& name, std::size_t first_line) {
  return ShellLexer(script, name, first_line).all();
}

bool is_shell_name(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  return std::ranges::all_of(text, [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

std::optional<std::pair<std::string_view, std::size_t>> assigned_name(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) return std::nullopt;
  const bool more = word[equals - 1] == '+';
  std::string_view name = word.substr(0, equals - (more ? 1 : 0));
  if (name.ends_with(']')) name = name.substr(0, name.find('['));
  if (!is_shell_name(name)) return std::nullopt;
  return std::pair(name, equals + 1);
}

}  // namespace plumb
