#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/launches/shell_values.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {
namespace {

using Truth = std::optional<bool>;

const std::vector<Truth> kTruths{true, false, std::nullopt};

/// A word whose truth is `truth`: the output of a command is not known.
std::string word_of(Truth truth) { return !truth ? "\x01$(c)\x02" : *truth ? "x" : ""; }

/// The least of the two in the order false, unknown, true.
Truth both(Truth a, Truth b) {
  if (a == false || b == false) return false;
  return a && b ? Truth(true) : std::nullopt;
}

Truth no(Truth a) { return a ? Truth(!*a) : std::nullopt; }
Truth either(Truth a, Truth b) { return no(both(no(a), no(b))); }

Truth read(const std::vector<std::string>& words) {
  ShellWork work;
  return shell_condition(words, work);
}

}  // namespace

TEST_CASE("conditions are joined as in the logic of three values, and bind by strength") {
  for (const Truth a : kTruths) {
    const std::string one = word_of(a);
    CHECK(read({one}) == a);
    CHECK(read({"!", one}) == no(a));
    CHECK(read({"!", "!", one}) == a);
    CHECK(read({"(", one, ")"}) == a);
    for (const Truth b : kTruths) {
      const std::string other = word_of(b);
      for (const char* each : {"&&", "-a"}) CHECK(read({one, each, other}) == both(a, b));
      for (const char* any : {"||", "-o"}) CHECK(read({one, any, other}) == either(a, b));
      CHECK(read({"!", one, "&&", other}) == both(no(a), b));
      CHECK(read({one, "||", "!", other}) == either(a, no(b)));
      for (const Truth c : kTruths) {
        const std::string third = word_of(c);
        CHECK(read({one, "||", other, "&&", third}) == either(a, both(b, c)));
        CHECK(read({one, "&&", other, "||", third}) == either(both(a, b), c));
        CHECK(read({"(", one, "||", other, ")", "&&", third}) == both(either(a, b), c));
        CHECK(read({one, "&&", other, "&&", third}) == both(a, both(b, c)));
        CHECK(read({one, "||", other, "||", third}) == either(a, either(b, c)));
      }
    }
  }
}

TEST_CASE("numbers are compared as their operators say, on both sides of every border") {
  for (const int a : {-1, 9, 10, 11}) {
    for (const int b : {-1, 9, 10, 11}) {
      const auto is = [&](const char* what) { return read({std::to_string(a), what, std::to_string(b)}); };
      CAPTURE(a);
      CAPTURE(b);
      CHECK(is("-eq") == (a == b));
      CHECK(is("-ne") == (a != b));
      CHECK(is("-lt") == (a < b));
      CHECK(is("-le") == (a <= b));
      CHECK(is("-gt") == (a > b));
      CHECK(is("-ge") == (a >= b));
      CHECK(is("<") == (a < b));
      CHECK(is(">") == (a > b));
      CHECK(is("=") == (a == b));
      CHECK(is("==") == (a == b));
      CHECK(is("!=") == (a != b));
    }
  }
}

TEST_CASE("a text is asked for being empty, and fits a pattern or does not") {
  CHECK(read({"-z", ""}) == true);
  CHECK(read({"-z", "a"}) == false);
  CHECK(read({"-n", ""}) == false);
  CHECK(read({"-n", "a"}) == true);
  CHECK(read({"abc", "==", "a*"}) == true);
  CHECK(read({"abc", "=", "b*"}) == false);
  CHECK(read({"abc", "!=", "a*"}) == false);
  CHECK(read({"abc", "!=", "b*"}) == true);
  CHECK(read({}) == false);
}

TEST_CASE("what a condition does not define is empty, and what it does not know it does not decide") {
  const std::string name = "\x01NAME\x02";
  const std::string output = "\x01$(c)\x02";
  const std::string quoted = "\x01`c`\x02";
  CHECK(read({"-z", name}) == true);
  CHECK(read({"-n", name}) == false);
  CHECK(read({name}) == false);
  CHECK(read({"a" + name}) == true);
  CHECK(read({"a" + name + "b", "==", "ab"}) == true);
  CHECK(read({"ab", "==", "a" + name + "b"}) == true);
  for (const std::string& unknown : {output, quoted}) {
    CHECK(read({"-z", unknown}) == std::nullopt);
    CHECK(read({"-n", unknown}) == std::nullopt);
    CHECK(read({unknown, "==", "a"}) == std::nullopt);
    CHECK(read({"a", "==", unknown}) == std::nullopt);
    CHECK(read({"a" + unknown}) == std::nullopt);
  }
  CHECK(read({"-f", "file"}) == std::nullopt);
  CHECK(read({"-x", ""}) == std::nullopt);
  CHECK(read({"a", "-nt", "b"}) == std::nullopt);
  CHECK(read({"1", "-nt", "1"}) == std::nullopt);
  CHECK(read({"1x", "-eq", "1"}) == std::nullopt);
  CHECK(read({"1", "-eq", "1x"}) == std::nullopt);
  CHECK(read({"", "-eq", "1"}) == std::nullopt);
  CHECK(read({"1", "-eq", ""}) == std::nullopt);
}

TEST_CASE("a condition that ends too early or goes on behind its end is not known") {
  CHECK(read({"a", "=="}) == std::nullopt);
  CHECK(read({"!"}) == std::nullopt);
  CHECK(read({"(", "a"}) == std::nullopt);
  CHECK(read({"a", ")"}) == std::nullopt);
  CHECK(read({"a", "&&"}) == std::nullopt);
  CHECK(read({"a", "==", "a", "b"}) == std::nullopt);
  CHECK(read({"(", "a", "==", "a", ")", "b"}) == std::nullopt);
  std::vector<std::string> deep(63, "!");
  deep.emplace_back("a");
  CHECK(read(deep) == false);
  deep.insert(deep.begin(), "!");
  CHECK(read(deep) == std::nullopt);
}

}  // namespace plumb

TEST_SUITE_END();
