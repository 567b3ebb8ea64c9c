#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include "models/launches/shell_values.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {
namespace {

struct Operator {
  const char* text;
  int strength;
};

/// By strength as in C, and "**" above all.
constexpr std::array<Operator, 14> kOperators{{{"||", 1},
                                               {"&&", 2},
                                               {"==", 3},
                                               {"!=", 3},
                                               {"<", 4},
                                               {"<=", 4},
                                               {">", 4},
                                               {">=", 4},
                                               {"+", 5},
                                               {"-", 5},
                                               {"*", 6},
                                               {"/", 6},
                                               {"%", 6},
                                               {"**", 7}}};

/// An expression with as few brackets as its operators need, and what it comes to.
struct Expression {
  std::string text;
  int strength = 9;  ///< of its weakest operator; of a number more than of any
  std::optional<std::int64_t> value;
};

std::optional<std::int64_t> computed(std::string_view what, std::int64_t a, std::int64_t b) {
  if (what == "||") return a || b;
  if (what == "&&") return a && b;
  if (what == "==") return a == b;
  if (what == "!=") return a != b;
  if (what == "<") return a < b;
  if (what == "<=") return a <= b;
  if (what == ">") return a > b;
  if (what == ">=") return a >= b;
  if (what == "+") return a + b;
  if (what == "-") return a - b;
  if (what == "*") return a * b;
  if (what != "**") return b == 0 ? std::nullopt : std::optional(what == "/" ? a / b : a % b);
  if (b < 0 || b > 4 || a > 20 || a < -20) return std::nullopt;
  std::int64_t power = 1;
  for (std::int64_t k = 0; k < b; ++k) power *= a;
  return power;
}

class Drawn {
 public:
  explicit Drawn(unsigned seed) : random_(seed) {}

  Expression tree(int depth) {
    if (depth == 0 || random_() % 5 == 0) return leaf();
    const Operator& one = kOperators[random_() % kOperators.size()];
    const bool to_the_right = one.strength == 7;
    const Expression left = tree(depth - 1);
    const Expression right = tree(depth - 1);
    Expression whole;
    whole.strength = one.strength;
    whole.text = text_of(left, one.strength + (to_the_right ? 1 : 0)) + space() + one.text + space() +
                 text_of(right, one.strength + (to_the_right ? 0 : 1));
    if (left.value && right.value) whole.value = computed(one.text, *left.value, *right.value);
    return whole;
  }

 private:
  Expression leaf() {
    const auto number = static_cast<std::int64_t>(random_() % 7);
    Expression plain{std::to_string(number), 9, number};
    switch (random_() % 8) {
      case 0:
        return {"!" + space() + plain.text, 8, number == 0 ? 1 : 0};
      case 1:
        return {"-" + plain.text, 8, -number};
      case 2:
        return {"+" + plain.text, 8, number};
      case 3:
        return {"x", 9, 3};
      case 4:
        return {"y_1", 9, 5};
      default:
        return plain;
    }
  }

  static std::string text_of(const Expression& part, int least) {
    return part.strength < least ? "(" + part.text + ")" : part.text;
  }

  std::string space() { return random_() % 3 == 0 ? " " : random_() % 9 == 0 ? "\n\t " : ""; }

  std::mt19937 random_;
};

bool is_small(const Expression& whole) { return whole.value && *whole.value < 1'000'000 && *whole.value > -1'000'000; }

}  // namespace

TEST_CASE(
    "arithmetic comes to the value of its tree, with brackets only where the strength of operators asks for them") {
  Drawn drawn(5);
  ShellValues values;
  values.set("x", {"3"});
  values.set("y_1", {"x + 2"});
  int with_value = 0;
  for (int turn = 0; turn < 3000; ++turn) {
    const Expression whole = drawn.tree(1 + turn % 4);
    if (!is_small(whole)) continue;
    ++with_value;
    CAPTURE(whole.text);
    CHECK(shell_arithmetic(whole.text, values) == whole.value);
    CHECK(shell_arithmetic(" ( " + whole.text + " ) ", values) == whole.value);
  }
  CHECK(with_value > 1000);
}

TEST_CASE("arithmetic on what is no single number has no value") {
  ShellValues values;
  values.set("none", {});
  values.set("two", {"1", "2"});
  values.set("word", {"a b"});
  values.set("unknown", {"\x01X\x02"});
  values.set("self", {"self"});
  values.set("nine", {"9"});
  for (const char* text : {"none", "two", "word", "unknown", "self", "gone", "1+gone", "gone+1", "$", "nine nine", "9x",
                           "nine(1)", "(nine", "nine)", "1 +* 2", "!", "-", "()"}) {
    CAPTURE(text);
    CHECK(shell_arithmetic(text, values) == std::nullopt);
  }
  for (const char* text : {"nine", "$nine", "${nine}", " nine ", "(nine)", "nine+0", "nine-0", "$((nine))"}) {
    CAPTURE(text);
    CHECK(shell_arithmetic(text, values) == 9);
  }
}

}  // namespace plumb

TEST_SUITE_END();
