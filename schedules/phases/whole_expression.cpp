#include "schedules/phases/whole_expression.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kMostValue = 1'000'000'000'000'000;
constexpr int kMostNested = 100;

/// A value and by how much it grows with one name.
struct Term {
  std::int64_t value = 0;
  std::int64_t slope = 0;
  bool bent = false;  ///< it does not grow evenly
};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

class WholeReader {
 public:
  /// `growing`: the name that slopes are by; empty: none.
  WholeReader(std::string_view text, const WholeNames& names, const std::string& where, std::string_view growing)
      : text_(text), names_(names), where_(where), growing_(growing) {}

  Term read() {
    const Term term = comparison();
    skip_spaces();
    if (at_ < text_.size()) fail("'" + std::string(text_.substr(at_)) + "' is too much");
    return term;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(where_ + ": expression '" + std::string(text_) + "': " + what);
  }

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  /// The next letter; 0: there is none.
  char next() {
    skip_spaces();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool take(char letter) {
    if (next() != letter) return false;
    ++at_;
    return true;
  }

  std::int64_t within(std::int64_t value) const {
    if (value > kMostValue || value < -kMostValue) fail("a value beyond 10^15");
    return value;
  }

  std::int64_t product_of(std::int64_t value, std::int64_t other) const {
    if (other != 0 && std::abs(value) > kMostValue / std::abs(other)) fail("a value beyond 10^15");
    return value * other;
  }

  /// What an operation makes of two terms that keeps no slope.
  static Term uneven(std::int64_t value, const Term& left, const Term& right) {
    return {value, 0, left.bent || right.bent || left.slope != 0 || right.slope != 0};
  }

  Term comparison() {
    const Term left = sum();
    if (const char sign = next(); sign != '<' && sign != '>' && sign != '=' && sign != '!') return left;
    constexpr std::array<std::string_view, 6> kSigns{"<=", ">=", "==", "!=", "<", ">"};
    for (std::size_t sign = 0; sign < kSigns.size(); ++sign) {
      if (!text_.substr(at_).starts_with(kSigns[sign])) continue;
      at_ += kSigns[sign].size();
      const Term right = sum();
      const std::int64_t a = left.value;
      const std::int64_t b = right.value;
      const std::array<bool, 6> holds{a <= b, a >= b, a == b, a != b, a<b, a> b};
      return uneven(holds[sign] ? 1 : 0, left, right);
    }
    return left;
  }

  Term sum() {
    Term term = product();
    for (;;) {
      const bool plus = take('+');
      if (!plus && !take('-')) return term;
      const Term other = product();
      const int sign = plus ? 1 : -1;
      term = {within(term.value + sign * other.value), term.slope + sign * other.slope, term.bent || other.bent};
    }
  }

  Term product() {
    Term term = factor();
    for (;;) {
      if (take('*')) {
        const Term other = factor();
        const bool curved = term.slope != 0 && other.slope != 0;
        const std::int64_t slope = curved            ? 0
                                   : term.slope != 0 ? product_of(term.slope, other.value)
                                                     : product_of(other.slope, term.value);
        term = {product_of(term.value, other.value), slope, term.bent || other.bent || curved};
      } else if (take('/')) {
        const Term other = divisor();
        const std::int64_t by = other.value;
        term = uneven((term.value - (term.value % by + by) % by) / by, term, other);
      } else if (take('%')) {
        const Term other = divisor();
        const std::int64_t by = other.value;
        term = uneven((term.value % by + by) % by, term, other);
      } else {
        return term;
      }
    }
  }

  Term divisor() {
    const Term term = factor();
    if (term.value < 1) fail("divided by " + std::to_string(term.value) + ", expected at least 1");
    return term;
  }

  Term factor() {
    if (++nested_ > kMostNested) fail("nested too deep");
    const Term term = plain_factor();
    --nested_;
    return term;
  }

  Term plain_factor() {
    skip_spaces();
    if (take('-')) {
      const Term term = factor();
      return {-term.value, -term.slope, term.bent};
    }
    if (take('(')) {
      const Term term = comparison();
      if (!take(')')) fail("expected ')'");
      return term;
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_letter(text_[at_])) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word.empty()) fail("expected a number or a name at its character " + std::to_string(begin + 1));
    if (word == "min" || word == "max") return extreme(word == "min");
    if (word[0] >= '0' && word[0] <= '9') return {number(std::string(word)), 0, false};
    return {named(begin, word), word == growing_ ? 1 : 0, false};
  }

  Term extreme(bool least) {
    if (!take('(')) fail("expected '(' behind min and max");
    const Term left = comparison();
    if (!take(',')) fail("expected ',' between two values");
    const Term right = comparison();
    if (!take(')')) fail("expected ')'");
    return uneven(least ? std::min(left.value, right.value) : std::max(left.value, right.value), left, right);
  }

  std::int64_t number(const std::string& word) const {
    if (word.size() > 15 || word.find_first_not_of("0123456789") != std::string::npos) {
      fail("'" + word + "' is no whole number");
    }
    return std::stoll(word);
  }

  /// The value of a name, or of "NAME is WORD".
  std::int64_t named(std::size_t begin, std::string_view word) {
    if (const std::size_t before = at_; next() == 'i' && text_.substr(at_).starts_with("is ")) {
      at_ += 3;
      skip_spaces();
      while (at_ < text_.size() && (is_letter(text_[at_]) || text_[at_] == '-')) ++at_;
      if (const std::int64_t* found = names_.find(text_.substr(begin, at_ - begin))) return *found;
      if (names_.contains(word)) fail("'" + std::string(text_.substr(begin, at_ - begin)) + "': it has no such word");
      at_ = before;
    }
    if (const std::int64_t* found = names_.find(word)) return *found;
    fail_unknown(std::string(word));
  }

  [[noreturn]] void fail_unknown(const std::string& word) const {
    const std::vector<std::string_view> known = names_.sorted();
    std::string all;
    for (const std::string_view name : known) all += (all.empty() ? "" : ", ") + std::string(name);
    const std::string nearest = nearest_name(word, known);
    fail("unknown name '" + word + "'" +
         (nearest.empty() ? ", expected one of " + all : " (did you mean '" + nearest + "'?)"));
  }

  std::string_view text_;
  const WholeNames& names_;
  const std::string& where_;
  std::string_view growing_;
  std::size_t at_ = 0;
  int nested_ = 0;
};

}  // namespace

std::int64_t& WholeNames::operator[](std::string_view name) {
  const auto found = std::ranges::find(all_, name, &std::pair<std::string, std::int64_t>::first);
  if (found != all_.end()) return found->second;
  return all_.emplace_back(name, 0).second;
}

const std::int64_t* WholeNames::find(std::string_view name) const {
  for (const auto& [known, value] : all_) {
    if (known == name) return &value;
  }
  return nullptr;
}

std::int64_t WholeNames::at(std::string_view name) const {
  if (const std::int64_t* found = find(name)) return *found;
  throw Error("unknown name '" + std::string(name) + "'");
}

std::vector<std::string_view> WholeNames::sorted() const {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : all_) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

std::int64_t whole_value(std::string_view text, const WholeNames& names, const std::string& where) {
  // Most expressions of rules are a digit or a name.
  if (text.size() == 1 && text[0] >= '0' && text[0] <= '9') return text[0] - '0';
  if (const std::int64_t* named = names.find(text)) return *named;
  return WholeReader(text, names, where, {}).read().value;
}

std::optional<std::int64_t> whole_slope(std::string_view text, const WholeNames& names, const std::string& where,
                                        std::string_view name) {
  const Term term = WholeReader(text, names, where, name).read();
  if (term.bent) return std::nullopt;
  return term.slope;
}

}  // namespace plumb
