#include "schedules/phases/whole_expression.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kMostValue = 1'000'000'000'000'000;
constexpr int kMostNested = 100;

class WholeReader {
 public:
  WholeReader(std::string_view text, const WholeNames& names, const std::string& where)
      : text_(text), names_(names), where_(where) {}

  std::int64_t read() {
    const std::int64_t value = comparison();
    skip_spaces();
    if (at_ < text_.size()) fail("'" + std::string(text_.substr(at_)) + "' is too much");
    return value;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(where_ + ": expression '" + std::string(text_) + "': " + what);
  }

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool take(std::string_view token) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  std::int64_t within(std::int64_t value) const {
    if (value > kMostValue || value < -kMostValue) fail("a value beyond 10^15");
    return value;
  }

  std::int64_t comparison() {
    const std::int64_t left = sum();
    constexpr std::array<std::string_view, 6> kSigns{"<=", ">=", "==", "!=", "<", ">"};
    for (std::size_t sign = 0; sign < kSigns.size(); ++sign) {
      if (!take(kSigns[sign])) continue;
      const std::int64_t right = sum();
      const std::array<bool, 6> holds{left <= right, left >= right, left == right, left != right,
                                      left<right, left> right};
      return holds[sign] ? 1 : 0;
    }
    return left;
  }

  std::int64_t sum() {
    std::int64_t value = product();
    for (;;) {
      if (take("+")) {
        value = within(value + product());
      } else if (take("-")) {
        value = within(value - product());
      } else {
        return value;
      }
    }
  }

  std::int64_t product() {
    std::int64_t value = factor();
    for (;;) {
      if (take("*")) {
        const std::int64_t other = factor();
        if (other != 0 && std::abs(value) > kMostValue / std::abs(other)) fail("a value beyond 10^15");
        value *= other;
      } else if (take("/")) {
        const std::int64_t other = divisor();
        value = (value - (value % other + other) % other) / other;
      } else if (take("%")) {
        const std::int64_t other = divisor();
        value = (value % other + other) % other;
      } else {
        return value;
      }
    }
  }

  std::int64_t divisor() {
    const std::int64_t value = factor();
    if (value < 1) fail("divided by " + std::to_string(value) + ", expected at least 1");
    return value;
  }

  std::int64_t factor() {
    if (++nested_ > kMostNested) fail("nested too deep");
    const std::int64_t value = plain_factor();
    --nested_;
    return value;
  }

  std::int64_t plain_factor() {
    skip_spaces();
    if (take("-")) return -factor();
    if (take("(")) {
      const std::int64_t value = comparison();
      if (!take(")")) fail("expected ')'");
      return value;
    }
    const std::size_t begin = at_;
    const auto letter = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    while (at_ < text_.size() && letter(text_[at_])) ++at_;
    const std::string word(text_.substr(begin, at_ - begin));
    if (word.empty()) fail("expected a number or a name at its character " + std::to_string(begin + 1));
    if (word == "min" || word == "max") return extreme(word == "min");
    return word[0] >= '0' && word[0] <= '9' ? number(word) : named(word);
  }

  std::int64_t extreme(bool least) {
    if (!take("(")) fail("expected '(' behind min and max");
    const std::int64_t left = comparison();
    if (!take(",")) fail("expected ',' between two values");
    const std::int64_t right = comparison();
    if (!take(")")) fail("expected ')'");
    return least ? std::min(left, right) : std::max(left, right);
  }

  std::int64_t number(const std::string& word) const {
    if (word.size() > 15 || word.find_first_not_of("0123456789") != std::string::npos) {
      fail("'" + word + "' is no whole number");
    }
    return std::stoll(word);
  }

  std::int64_t named(const std::string& word) const {
    const auto found = names_.find(word);
    if (found != names_.end()) return found->second;
    std::vector<std::string_view> known;
    std::string all;
    for (const auto& [name, value] : names_) {
      known.push_back(name);
      all += (all.empty() ? "" : ", ") + name;
    }
    const std::string nearest = nearest_name(word, known);
    fail("unknown name '" + word + "'" +
         (nearest.empty() ? ", expected one of " + all : " (did you mean '" + nearest + "'?)"));
  }

  std::string_view text_;
  const WholeNames& names_;
  const std::string& where_;
  std::size_t at_ = 0;
  int nested_ = 0;
};

}  // namespace

std::int64_t whole_value(std::string_view text, const WholeNames& names, const std::string& where) {
  return WholeReader(text, names, where).read();
}

}  // namespace plumb
