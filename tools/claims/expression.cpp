#include "tools/claims/expression.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

struct Function {
  std::string_view name;
  int arguments;
  double (*of)(double, double);
};

constexpr std::array<Function, 5> kFunctions{{
    {"min", 2, [](double a, double b) { return std::min(a, b); }},
    {"max", 2, [](double a, double b) { return std::max(a, b); }},
    {"ceil", 1, [](double a, double) { return std::ceil(a); }},
    {"floor", 1, [](double a, double) { return std::floor(a); }},
    {"log2", 1, [](double a, double) { return std::log2(a); }},
}};

/// Recursive descent: sum, product, sign, power, atom.
class ExpressionReader {
 public:
  ExpressionReader(std::string_view text, std::string_view where) : text_(text), where_(where) {}

  double read() {
    const double value = sum(0);
    if (next() != '\0') fail("an operator");
    return value;
  }

 private:
  static constexpr int kDeepest = 100;

  [[noreturn]] void fail(const std::string& expected) const {
    const std::string found = at_ < text_.size() ? "'" + std::string(1, text_[at_]) + "'" : "the end";
    throw Error(std::string(where_) + ": column " + std::to_string(at_ + 1) + ": expected " + expected + ", found " +
                found);
  }

  char next() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool take(char wanted) {
    if (next() != wanted) return false;
    ++at_;
    return true;
  }

  void need(char wanted) {
    if (!take(wanted)) fail("'" + std::string(1, wanted) + "'");
  }

  double sum(int depth) {
    if (depth > kDeepest) fail("fewer parentheses");
    double value = product(depth);
    for (;;) {
      if (take('+')) {
        value += product(depth);
      } else if (take('-')) {
        value -= product(depth);
      } else {
        return value;
      }
    }
  }

  double product(int depth) {
    double value = sign(depth);
    for (;;) {
      if (take('*')) {
        value *= sign(depth);
      } else if (take('/')) {
        value /= sign(depth);
      } else {
        return value;
      }
    }
  }

  double sign(int depth) { return take('-') ? -power(depth) : power(depth); }

  double power(int depth) {
    const double base = atom(depth);
    return take('^') ? std::pow(base, sign(depth + 1)) : base;
  }

  double atom(int depth) {
    if (depth > kDeepest) fail("fewer parentheses");
    const char first = next();
    if (first == '(') return parenthesized(depth);
    return std::isalpha(static_cast<unsigned char>(first)) != 0 ? call(depth) : number();
  }

  double parenthesized(int depth) {
    need('(');
    const double value = sum(depth + 1);
    need(')');
    return value;
  }

  double call(int depth) {
    const std::string_view rest = text_.substr(at_);
    for (const Function& function : kFunctions) {
      if (!rest.starts_with(function.name)) continue;
      at_ += function.name.size();
      need('(');
      const double first = sum(depth + 1);
      double second = 0;
      if (function.arguments == 2) {
        need(',');
        second = sum(depth + 1);
      }
      need(')');
      return function.of(first, second);
    }
    fail("min, max, ceil, floor or log2");
  }

  double number() {
    double value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value, std::chars_format::fixed);
    if (error != std::errc{}) fail("a number");
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  std::string_view text_;
  std::string_view where_;
  std::size_t at_ = 0;
};

}  // namespace

double evaluate_expression(std::string_view text, std::string_view where) {
  const double value = ExpressionReader(text, where).read();
  if (!std::isfinite(value)) throw Error(std::string(where) + ": expected a finite value");
  return value;
}

}  // namespace plumb
