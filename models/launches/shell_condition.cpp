#include <algorithm>
#include <charconv>

#include "models/launches/settings.hpp"
#include "models/launches/shell_pattern.hpp"
#include "models/launches/shell_values.hpp"

namespace plumb {
namespace {

/// What is not defined is empty.
std::string known_part(std::string_view word) {
  std::string text;
  for (std::size_t at = 0; at < word.size(); ++at) {
    if (word[at] == kUnknownBegin) {
      at = std::min(word.find(kUnknownEnd, at), word.size());
    } else {
      text += word[at];
    }
  }
  return text;
}

/// Returns whether the output of a command is part of it.
bool holds_output(std::string_view word) { return unknown_in(word).find_first_of("$`") != std::string::npos; }

std::optional<std::int64_t> whole_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Conditions joined by !, && (-a), || (-o) and brackets.
class ShellCondition {
 public:
  ShellCondition(const std::vector<std::string>& words, ShellWork& work) : words_(words), work_(work) {}

  std::optional<bool> read() {
    if (words_.empty()) return false;
    const auto value = any();
    return at_ == words_.size() ? value : std::nullopt;
  }

 private:
  bool take(std::string_view a, std::string_view b = {}) {
    if (at_ >= words_.size() || (words_[at_] != a && (b.empty() || words_[at_] != b))) return false;
    ++at_;
    return true;
  }

  std::optional<bool> any() {
    auto value = every();
    while (take("||", "-o")) {
      const auto next = every();
      value = value == true || next == true ? true : value && next ? std::optional(false) : std::nullopt;
    }
    return value;
  }

  std::optional<bool> every() {
    auto value = one();
    while (take("&&", "-a")) {
      const auto next = one();
      value = value == false || next == false ? false : value && next ? std::optional(true) : std::nullopt;
    }
    return value;
  }

  std::optional<bool> one() {
    if (++depth_ > 64) return std::nullopt;
    if (take("!")) {
      const auto value = one();
      return value ? std::optional(!*value) : std::nullopt;
    }
    if (take("(")) {
      const auto value = any();
      return take(")") ? value : std::nullopt;
    }
    return comparison();
  }

  bool is_joint(std::size_t at) const {
    static constexpr std::string_view kJoints[] = {"&&", "||", "-a", "-o", ")"};
    return at >= words_.size() || std::ranges::find(kJoints, words_[at]) != std::end(kJoints);
  }

  std::optional<bool> comparison() {
    if (at_ >= words_.size()) return std::nullopt;
    const std::string first = words_[at_++];
    if (is_joint(at_)) return holds_output(first) ? std::nullopt : std::optional(!known_part(first).empty());
    if (first.size() == 2 && first[0] == '-' && is_joint(at_ + 1)) return about(first, words_[at_++]);
    const std::string what = words_[at_++];
    if (at_ >= words_.size()) return std::nullopt;
    const std::string second = words_[at_++];
    if (holds_output(first) || holds_output(second)) return std::nullopt;
    return compared(known_part(first), what, known_part(second));
  }

  static std::optional<bool> about(const std::string& question, const std::string& word) {
    if (holds_output(word)) return std::nullopt;
    if (question == "-z") return known_part(word).empty();
    if (question == "-n") return !known_part(word).empty();
    return std::nullopt;
  }

  std::optional<bool> compared(const std::string& a, const std::string& what, const std::string& b) const {
    if (what == "=" || what == "==") return shell_pattern_fits(b, a, work_);
    if (what == "!=") return !shell_pattern_fits(b, a, work_);
    const auto x = whole_of(a);
    const auto y = whole_of(b);
    if (!x || !y) return std::nullopt;
    if (what == "-eq") return *x == *y;
    if (what == "-ne") return *x != *y;
    if (what == "-lt" || what == "<") return *x < *y;
    if (what == "-le") return *x <= *y;
    if (what == "-gt" || what == ">") return *x > *y;
    if (what == "-ge") return *x >= *y;
    return std::nullopt;
  }

  const std::vector<std::string>& words_;
  ShellWork& work_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::optional<bool> shell_condition(const std::vector<std::string>& words, ShellWork& work) {
  return ShellCondition(words, work).read();
}

}  // namespace plumb
