#include <array>
#include <cctype>
#include <charconv>
#include <limits>

#include "models/launches/settings.hpp"
#include "models/launches/shell_values.hpp"

namespace plumb {
namespace {

constexpr int kDeepestBrackets = 64;

/// Reads a * b + c by the strength of the operators.
class ShellArithmetic {
 public:
  ShellArithmetic(std::string_view text, const ShellValues& values, int depth)
      : text_(text), values_(values), depth_(depth) {}

  std::optional<std::int64_t> read() {
    if (!values_.work().spend(1 + text_.size())) return std::nullopt;
    const auto value = sum_of(0);
    skip_spaces();
    return at_ == text_.size() ? value : std::nullopt;
  }

 private:
  static constexpr int kPower = 7;  ///< strength of the operator that is read from the right: 2**3**2 is 2**9

  struct Operator {
    std::string_view text;
    int strength = 0;
  };
  /// Longer ones first.
  static constexpr std::array<Operator, 13> kOperators{{{"**", kPower},
                                                        {"==", 3},
                                                        {"!=", 3},
                                                        {"<=", 4},
                                                        {">=", 4},
                                                        {"&&", 2},
                                                        {"||", 1},
                                                        {"<", 4},
                                                        {">", 4},
                                                        {"+", 5},
                                                        {"-", 5},
                                                        {"*", 6},
                                                        {"/", 6}}};

  void skip_spaces() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }

  Operator operator_here() {
    skip_spaces();
    if (at_ < text_.size() && text_[at_] == '%') return {"%", 6};
    for (const Operator& one : kOperators) {
      if (text_.substr(at_).starts_with(one.text)) return one;
    }
    return {};
  }

  std::optional<std::int64_t> sum_of(int least) {
    auto left = factor();
    while (left) {
      const Operator one = operator_here();
      if (one.text.empty() || one.strength <= least) break;
      at_ += one.text.size();
      const auto right = sum_of(one.strength == kPower ? kPower - 1 : one.strength);
      if (!right) return std::nullopt;
      left = applied(one.text, *left, *right);
    }
    return left;
  }

  static std::optional<std::int64_t> applied(std::string_view what, std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    if (what == "+") return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    if (what == "-") return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    if (what == "*") return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    if (what == "/" || what == "%") {
      if (b == 0 || (b == -1 && a == std::numeric_limits<std::int64_t>::min())) return std::nullopt;
      return what == "/" ? a / b : a % b;
    }
    if (what == "==") return a == b;
    if (what == "!=") return a != b;
    if (what == "<=") return a <= b;
    if (what == ">=") return a >= b;
    if (what == "<") return a < b;
    if (what == ">") return a > b;
    if (what == "&&") return a != 0 && b != 0;
    if (what == "||") return a != 0 || b != 0;
    return power(a, b);
  }

  static std::optional<std::int64_t> power(std::int64_t base, std::int64_t exponent) {
    if (exponent < 0 || exponent > 63) return std::nullopt;
    std::int64_t result = 1;
    for (std::int64_t k = 0; k < exponent; ++k) {
      if (__builtin_mul_overflow(result, base, &result)) return std::nullopt;
    }
    return result;
  }

  std::optional<std::int64_t> factor() {
    skip_spaces();
    if (at_ >= text_.size() || ++depth_ > kDeepestBrackets) return std::nullopt;
    const char letter = text_[at_];
    if (letter == '-' || letter == '+' || letter == '!') {
      ++at_;
      const auto value = factor();
      --depth_;
      if (!value || *value == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
      return letter == '-' ? -*value : letter == '!' ? static_cast<std::int64_t>(*value == 0) : *value;
    }
    if (letter == '(') {
      ++at_;
      const auto value = sum_of(0);
      --depth_;
      skip_spaces();
      if (!value || at_ >= text_.size() || text_[at_] != ')') return std::nullopt;
      ++at_;
      return value;
    }
    const auto value = std::isdigit(static_cast<unsigned char>(letter)) != 0 ? number() : variable();
    --depth_;
    return value;
  }

  std::optional<std::int64_t> number() {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc{}) return std::nullopt;
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  /// A name stands for its value, which is arithmetic again.
  std::optional<std::int64_t> variable() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    if (at_ == begin) return std::nullopt;
    const ShellValues::Words* words = values_.find(text_.substr(begin, at_ - begin));
    if (words == nullptr || words->size() != 1) return std::nullopt;
    return ShellArithmetic(words->front(), values_, depth_).read();
  }

  std::string_view text_;
  const ShellValues& values_;
  int depth_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::int64_t> shell_arithmetic(std::string_view expression, const ShellValues& values) {
  const std::string text = values.joined("\"" + std::string(expression) + "\"");
  if (!unknown_in(text).empty()) return std::nullopt;
  return ShellArithmetic(text, values, 0).read();
}

}  // namespace plumb
