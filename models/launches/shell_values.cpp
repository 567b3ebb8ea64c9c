#include "models/launches/shell_values.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "models/launches/settings.hpp"
#include "models/launches/shell_pattern.hpp"
#include "models/launches/shell_tokens.hpp"

namespace plumb {
namespace {

constexpr int kDeepestExpansion = 32;

bool is_name_letter(char letter) { return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_'; }

std::string unknown_mark(std::string_view name) { return kUnknownBegin + std::string(name) + kUnknownEnd; }

std::string in_case(std::string text, bool upper) {
  for (char& letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    letter = static_cast<char>(upper ? std::toupper(code) : std::tolower(code));
  }
  return text;
}

std::string joined_words(const ShellValues::Words& words) {
  std::string text;
  for (std::size_t k = 0; k < words.size(); ++k) text += (k == 0 ? "" : " ") + words[k];
  return text;
}

/// What words cost that are copied.
std::size_t size_of(const ShellValues::Words& words) {
  std::size_t size = 0;
  for (const std::string& word : words) size += 1 + word.size();
  return size;
}

/// `text` without what fits `pattern` at its beginning or end: as little or as much of it as there is.
std::string trimmed(const std::string& text, std::string_view pattern, ShellPart part, ShellWork& work) {
  const auto length = shell_pattern_length(pattern, text, part, work);
  if (!length) return text;
  const bool at_end = part == ShellPart::kShortestEnd || part == ShellPart::kLongestEnd;
  return at_end ? text.substr(0, text.size() - *length) : text.substr(*length);
}

/// Replaces what a word uses, and takes the word apart.
class ShellExpansion {
 public:
  ShellExpansion(const ShellValues& values, int depth) : values_(values), depth_(depth) {}

  ShellValues::Words words_of(std::string_view token) {
    read(token, false);
    end_word();
    return std::move(words_);
  }

  std::string text_of(std::string_view token) {
    one_word_ = true;
    read(token, false);
    return current_;
  }

 private:
  void add(std::string_view text) {
    begun_ = true;
    if (values_.work().spend(text.size())) current_ += text;
  }

  void end_word() {
    if (begun_ && values_.work().spend(1)) words_.push_back(std::move(current_));
    current_.clear();
    begun_ = false;
  }

  void read(std::string_view token, bool quoted) {
    if (depth_ > kDeepestExpansion) return add(unknown_mark(token));
    for (std::size_t at = 0; at < token.size();) {
      const std::size_t end = shell_unit_end(token, at);
      if (end == std::string_view::npos) return add(token.substr(at));
      if (token[at] == '\\') {
        at = escaped(token, at, quoted);
      } else if (token[at] == '$') {
        at = dollar(token, at, end, quoted);
      } else if (token[at] == '\'' && !quoted) {
        add(token.substr(at + 1, end - at - 2));
        at = end;
      } else if (token[at] == '"' && !quoted) {
        begun_ = begun_ || end == at + 2;
        read(token.substr(at + 1, end - at - 2), true);
        at = end;
      } else if (token[at] == '`') {
        put({output_of(token.substr(at + 1, end - at - 2))}, quoted, false);
        at = end;
      } else {
        add(token.substr(at++, 1));
      }
    }
  }

  std::size_t escaped(std::string_view token, std::size_t at, bool quoted) {
    if (at + 1 >= token.size()) {
      add("\\");
    } else if (quoted && std::string_view("$`\"\\\n").find(token[at + 1]) == std::string_view::npos) {
      add(token.substr(at, 2));
    } else if (token[at + 1] != '\n') {
      add(token.substr(at + 1, 1));
    }
    return at + 2;
  }

  /// Returns what begins with a dollar at `at`; `end` is behind it where it has brackets.
  std::size_t dollar(std::string_view token, std::size_t at, std::size_t end, bool quoted) {
    if (end > at) {
      const std::string_view inside = token.substr(at + 2, end - at - 3);
      if (token[at + 1] == '{') {
        put(parameter(inside), quoted, inside.ends_with("[@]") || inside == "@");
      } else if (inside.starts_with('(') && inside.ends_with(')')) {
        const auto value = shell_arithmetic(inside.substr(1, inside.size() - 2), values_);
        put({value ? std::to_string(*value) : unknown_mark(unknown_part(inside))}, quoted, false);
      } else {
        put({output_of(inside)}, quoted, false);
      }
      return end;
    }
    std::size_t last = at + 1;
    while (last < token.size() && is_name_letter(token[last])) ++last;
    if (last == at + 1 && last < token.size() &&
        std::string_view("@*#?$!").find(token[last]) != std::string_view::npos) {
      ++last;
    } else if (last > at + 1 && std::isdigit(static_cast<unsigned char>(token[at + 1])) != 0) {
      last = at + 2;
    }
    if (last == at + 1) {
      const bool ansi = last < token.size() && token[last] == '\'' && !quoted;
      if (!ansi) add("$");
      return last;
    }
    const std::string_view name = token.substr(at + 1, last - at - 1);
    put(value_of(name), quoted, name == "@");
    return last;
  }

  /// Returns the first variable of an expression that has no value, or the expression.
  std::string unknown_part(std::string_view expression) const {
    for (std::size_t at = 0; at < expression.size();) {
      std::size_t end = at;
      while (end < expression.size() && is_name_letter(expression[end])) ++end;
      const std::string_view name = expression.substr(at, end - at);
      const bool is_variable = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0;
      const ShellValues::Words* words = is_variable ? values_.find(name) : nullptr;
      if (is_variable && words == nullptr) return std::string(name);
      if (words != nullptr && !words->empty() && !unknown_in(words->front()).empty()) return unknown_in(words->front());
      at = std::max(end, at + 1);
    }
    return "$(" + std::string(expression) + ")";
  }

  /// Returns what a command would print: known of `expr` and `echo`, and of `pwd` and `dirname`, as scripts name their
  /// own folder.
  std::string output_of(std::string_view command) {
    const std::size_t begin = std::min(command.find_first_not_of(' '), command.size());
    const std::string_view rest = command.substr(begin);
    if (rest.starts_with("expr ")) {
      std::string text(rest.substr(5));
      std::erase(text, '\\');
      if (const auto value = shell_arithmetic(text, values_)) return std::to_string(*value);
    }
    if (rest.starts_with("echo ") && rest.find_first_of("|;&><") == std::string_view::npos) {
      return joined_words(ShellExpansion(values_, depth_ + 1).words_of(rest.substr(5)));
    }
    const bool here = rest.find("BASH_SOURCE") != std::string_view::npos || rest.find("$0") != std::string_view::npos;
    if (rest.starts_with("pwd") || (here && (rest.starts_with("dirname ") || rest.starts_with("cd ")))) return ".";
    return unknown_mark("$(" + std::string(command) + ")");
  }

  ShellValues::Words value_of(std::string_view name) const {
    const ShellValues::Words* found = values_.find(name);
    if (found != nullptr) return values_.work().spend(size_of(*found)) ? *found : ShellValues::Words{};
    if (name == "@" || name == "*") return {};
    if (name == "#" || name == "?") return {"0"};
    return {unknown_mark(name)};
  }

  /// "NAME", "NAME[2]", "#NAME", "NAME:-word", "NAME%.sh", "NAME/a/b", "NAME,,", ...
  ShellValues::Words parameter(std::string_view body) {
    if (body.size() > 1 && (body[0] == '#' || body[0] == '!')) {
      if (body[1] == '#' || body[1] == '!') return {unknown_mark(body)};
      const ShellValues::Words words = parameter(body.substr(1));
      if (body[0] == '!') return words.size() == 1 ? value_of(words.front()) : words;
      const bool of_array = body.ends_with("[@]") || body.ends_with("[*]");
      return {std::to_string(of_array ? words.size() : words.empty() ? 0 : words.front().size())};
    }
    std::size_t end = 0;
    while (end < body.size() && is_name_letter(body[end])) ++end;
    if (end == 0 && !body.empty()) end = 1;
    const std::string_view name = body.substr(0, end);
    std::string_view rest = body.substr(end);
    ShellValues::Words words = value_of(name);
    bool defined = values_.find(name) != nullptr;
    if (rest.starts_with('[') && rest.find(']') != std::string_view::npos) {
      const std::size_t close = rest.find(']');
      words = element(name, std::move(words), rest.substr(1, close - 1));
      defined = defined && !words.empty();
      rest.remove_prefix(close + 1);
    }
    return rest.empty() ? words : changed(name, std::move(words), defined, rest);
  }

  ShellValues::Words element(std::string_view name, ShellValues::Words words, std::string_view which) const {
    if (which == "@" || which == "*") return values_.find(name) == nullptr ? ShellValues::Words{} : words;
    const auto number = shell_arithmetic(which, values_);
    if (!number || *number < 0 || static_cast<std::size_t>(*number) >= words.size()) {
      return {unknown_mark(std::string(name) + "[" + std::string(which) + "]")};
    }
    return {words[static_cast<std::size_t>(*number)]};
  }

  ShellValues::Words changed(std::string_view name, ShellValues::Words words, bool defined, std::string_view how) {
    const bool colon =
        how.size() > 1 && how[0] == ':' && std::string_view("-=+?").find(how[1]) != std::string_view::npos;
    const char kind = how[colon ? 1 : 0];
    const std::string_view word = how.substr(colon ? 2 : 1);
    const bool present = defined && !(colon && joined_words(words).empty());
    if (kind == '-' || kind == '=') {
      return present ? words : ShellValues::Words{ShellExpansion(values_, depth_ + 1).text_of(word)};
    }
    if (kind == '+') {
      return present ? ShellValues::Words{ShellExpansion(values_, depth_ + 1).text_of(word)} : ShellValues::Words{};
    }
    if (kind == '?' || !defined) return words;
    const std::string text = joined_words(words);
    const bool twice = !word.empty() && word[0] == kind;
    const std::string pattern = ShellExpansion(values_, depth_ + 1).text_of(word.substr(twice ? 1 : 0));
    if (kind == '%' || kind == '#') {
      const ShellPart part = kind == '%' ? (twice ? ShellPart::kLongestEnd : ShellPart::kShortestEnd)
                                         : (twice ? ShellPart::kLongestBeginning : ShellPart::kShortestBeginning);
      return {trimmed(text, pattern, part, values_.work())};
    }
    if (kind == ',' || kind == '^') return {in_case(text, kind == '^')};
    if (kind == '/') return {replaced(text, pattern, twice)};
    return {unknown_mark(std::string(name) + std::string(how))};
  }

  std::string replaced(const std::string& text, const std::string& pattern, bool all) const {
    const std::size_t slash = pattern.find('/');
    const std::string from = pattern.substr(0, slash);
    const std::string to = slash == std::string::npos ? "" : pattern.substr(slash + 1);
    if (from.empty()) return text;
    std::string result;
    std::size_t begin = 0;
    for (std::size_t at = text.find(from); at != std::string::npos;
         at = all ? text.find(from, begin) : std::string::npos) {
      if (!values_.work().spend(1 + to.size())) break;
      result.append(text, begin, at - begin).append(to);
      begin = at + from.size();
    }
    return result.append(text, begin);
  }

  void put(const ShellValues::Words& words, bool quoted, bool each) {
    if (one_word_ || (quoted && !each)) return add(joined_words(words));
    for (std::size_t k = 0; k < words.size(); ++k) {
      if (k > 0) end_word();
      if (quoted) {
        add(words[k]);
      } else {
        put_apart(words[k]);
      }
    }
  }

  /// Spaces inside of the name of something unknown do not count.
  void put_apart(const std::string& word) {
    bool unknown = false;
    for (const char letter : word) {
      unknown = letter == kUnknownBegin || (unknown && letter != kUnknownEnd);
      if (!unknown && std::isspace(static_cast<unsigned char>(letter)) != 0) {
        end_word();
      } else {
        add({&letter, 1});
      }
    }
  }

  const ShellValues& values_;
  int depth_;
  bool one_word_ = false;
  bool begun_ = false;
  std::string current_;
  ShellValues::Words words_;
};

}  // namespace

void ShellValues::set(std::string_view name, Words words) {
  if (given_.contains(name) && !asked_->contains(name)) lost_.emplace(name);
  values_.insert_or_assign(std::string(name), std::move(words));
}

void ShellValues::give(std::string_view name, Words words) {
  set(name, std::move(words));
  given_.emplace(name);
}

void ShellValues::append(std::string_view name, const Words& words, bool to_array) {
  Words& value = values_[std::string(name)];
  if (to_array || value.empty()) {
    value.insert(value.end(), words.begin(), words.end());
    return;
  }
  for (const std::string& word : words) value.front() += word;
}

void ShellValues::unset(std::string_view name) {
  if (const auto found = values_.find(name); found != values_.end()) values_.erase(found);
}

std::optional<ShellValues::Words> ShellValues::take(std::string_view name) {
  const auto found = values_.find(name);
  if (found == values_.end()) return std::nullopt;
  std::optional<Words> words(std::move(found->second));
  values_.erase(found);
  return words;
}

const ShellValues::Words* ShellValues::find(std::string_view name) const {
  if (!asked_->contains(name)) asked_->emplace(name);
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

std::size_t ShellValues::size() const {
  std::size_t size = 0;
  for (const auto& [name, words] : values_) size += 1 + name.size() + size_of(words);
  return size;
}

ShellValues::Words ShellValues::expanded(std::string_view token) const {
  return ShellExpansion(*this, 0).words_of(token);
}

std::string ShellValues::joined(std::string_view token) const { return ShellExpansion(*this, 0).text_of(token); }

}  // namespace plumb
