#include "models/launches/shell_values.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

TEST_SUITE_BEGIN("models");

namespace plumb {
namespace {

using Words = ShellValues::Words;

std::string unknown(const std::string& name) { return "\x01" + name + "\x02"; }

ShellValues some_values() {
  ShellValues values;
  values.set("A", {"a b"});
  values.set("E", {""});
  values.set("L", {"1", "2 3", "4"});
  values.set("N", {});
  values.set("NAME", {"A"});
  values.set("U", {unknown("V")});
  values.set("@", {"x", "y z"});
  values.set("#", {"2"});
  values.set("1", {"x"});
  return values;
}

}  // namespace

TEST_CASE("words of a shell's values are set, added to, taken and measured") {
  ShellValues values;
  CHECK(values.size() == 0);
  values.set("ab", {"cde"});
  CHECK(values.size() == 1 + 2 + 1 + 3);
  values.append("ab", {"f"}, false);
  CHECK(*values.find("ab") == Words{"cdef"});
  values.append("ab", {"g", "h"}, true);
  CHECK(*values.find("ab") == Words{"cdef", "g", "h"});
  CHECK(values.size() == 3 + 5 + 2 + 2);
  values.append("ab", {"i"}, false);
  CHECK(*values.find("ab") == Words{"cdefi", "g", "h"});
  values.append("new", {"j"}, false);
  CHECK(*values.find("new") == Words{"j"});
  CHECK(values.take("new") == Words{"j"});
  CHECK(values.find("new") == nullptr);
  CHECK_FALSE(values.take("new").has_value());
  values.unset("new");
  values.unset("ab");
  CHECK(values.all().empty());
}

TEST_CASE("what is not known is named where it is used") {
  const ShellValues values = some_values();
  CHECK(values.expanded("$X") == Words{unknown("X")});
  CHECK(values.expanded("a${X}b") == Words{"a" + unknown("X") + "b"});
  CHECK(values.expanded("$(make it)") == Words{unknown("$(make it)")});
  CHECK(values.expanded("`make it`") == Words{unknown("$(make it)")});
  CHECK(values.expanded("$((X + 1))") == Words{unknown("X")});
  CHECK(values.expanded("$((1 + U))") == Words{unknown("V")});
  CHECK(values.expanded("$((N))") == Words{unknown("$((N))")});
  CHECK(values.expanded("$((1 / 0))") == Words{unknown("$((1 / 0))")});
  CHECK(values.expanded("$((3a))") == Words{unknown("$((3a))")});
  CHECK(values.expanded("$((#x * B_1))") == Words{unknown("x")});
  CHECK(values.expanded("${L[9]}") == Words{unknown("L[9]")});
  CHECK(values.expanded("${L[3]}") == Words{unknown("L[3]")});
  CHECK(values.expanded("${L[2]}") == Words{"4"});
  CHECK(values.expanded("${A@Q}") == Words{unknown("A@Q")});
  CHECK(values.expanded("${##}") == Words{unknown("##")});
  CHECK(values.expanded("${!!}") == Words{unknown("!!")});
  CHECK(values.expanded("${X%a}") == Words{unknown("X")});
  CHECK(values.expanded("${X:?no}") == Words{unknown("X")});
  CHECK(values.expanded("${A:?no}") == Words{"a", "b"});
  CHECK(values.expanded("${!NAME}") == Words{"a", "b"});
  CHECK(values.expanded("$U") == Words{unknown("V")});
}

TEST_CASE("spaces in the name of something unknown take no word apart, and other spaces do") {
  ShellValues values;
  values.set("M", {"a " + unknown("b c") + "d e"});
  CHECK(values.expanded("$M") == Words{"a", unknown("b c") + "d", "e"});
  CHECK(values.expanded("\"$M\"") == Words{"a " + unknown("b c") + "d e"});
  CHECK(values.joined("$M") == "a " + unknown("b c") + "d e");
}

TEST_CASE("parameters without a name of their own have their words and their number") {
  const ShellValues values = some_values();
  CHECK(values.expanded("$@") == Words{"x", "y", "z"});
  CHECK(values.expanded("\"$@\"") == Words{"x", "y z"});
  CHECK(values.expanded("\"${@}\"") == Words{"x", "y z"});
  CHECK(values.expanded("\"a$@b\"") == Words{"ax", "y zb"});
  CHECK(values.expanded("$#") == Words{"2"});
  CHECK(values.expanded("$1") == Words{"x"});
  CHECK(values.expanded("$10") == Words{"x0"});
  CHECK(values.expanded("$2") == Words{unknown("2")});
  CHECK(values.expanded("$?") == Words{"0"});
  CHECK(values.expanded("$$") == Words{unknown("$")});
  CHECK(values.expanded("$!") == Words{unknown("!")});
  const ShellValues none;
  CHECK(none.expanded("$@") == Words{});
  CHECK(none.expanded("$*") == Words{});
  CHECK(none.expanded("$#") == Words{"0"});
  CHECK(none.expanded("a $- b") == Words{"a $- b"});
}

TEST_CASE("empty words stay where they are quoted") {
  const ShellValues values = some_values();
  CHECK(values.expanded("$E") == Words{});
  CHECK(values.expanded("\"$E\"") == Words{""});
  CHECK(values.expanded("\"\"") == Words{""});
  CHECK(values.expanded("''") == Words{""});
  CHECK(values.expanded("a\"\"") == Words{"a"});
  CHECK(values.expanded("$E$E") == Words{});
  CHECK(values.expanded("a${N}b") == Words{"ab"});
  CHECK(values.expanded("") == Words{});
  CHECK(values.joined("") == "");
  CHECK(values.joined("$L") == "1 2 3 4");
  CHECK(values.joined("'a'\"b$E\"c") == "abc");
}

TEST_CASE("a backslash takes the meaning from what stands behind it, in double quotes only from five letters") {
  const ShellValues values = some_values();
  CHECK(values.expanded("a\\ b") == Words{"a b"});
  CHECK(values.expanded("\\$A\\'\\\"") == Words{"$A'\""});
  CHECK(values.expanded("\"\\$A\\`\\\"\\\\\\a\"") == Words{"$A`\"\\\\a"});
  CHECK(values.expanded("a\\\nb") == Words{"ab"});
  CHECK(values.expanded("\"a\\\nb\"") == Words{"ab"});
  CHECK(values.expanded("a\\") == Words{"a\\"});
  CHECK(values.expanded("'a\\b'") == Words{"a\\b"});
  CHECK(values.expanded("a$") == Words{"a$"});
  CHECK(values.expanded("$'a b'") == Words{"a b"});
  CHECK(values.expanded("\"$'a'\"") == Words{"$'a'"});
}

TEST_CASE("a script knows what echo and expr print, and the folder of the script is this one") {
  const ShellValues values = some_values();
  CHECK(values.expanded("\"$(echo $A)\"") == Words{"a b"});
  CHECK(values.expanded("$(  echo 1)") == Words{"1"});
  CHECK(values.expanded("$(expr 3 \\* 4)") == Words{"12"});
  CHECK(values.expanded("$(expr x)") == Words{unknown("$(expr x)")});
  for (const char* more : {"|", ";", "&", ">", "<"}) {
    const std::string command = "echo 1 " + std::string(more) + " c";
    CHECK(values.expanded("$(" + command + ")") == Words{unknown("$(" + command + ")")});
  }
  CHECK(values.expanded("$(pwd)") == Words{"."});
  CHECK(values.expanded("$(dirname $0)") == Words{"."});
  CHECK(values.expanded("$(dirname \"${BASH_SOURCE[0]}\")") == Words{"."});
  CHECK(values.expanded("$(cd $0; pwd)") == Words{"."});
  CHECK(values.expanded("$(dirname x)") == Words{unknown("$(dirname x)")});
  CHECK(values.expanded("$(readlink $0)") == Words{unknown("$(readlink $0)")});
}

TEST_CASE("32 values inside of each other are followed, and not one more") {
  const ShellValues values;
  const auto nested = [](std::size_t count) {
    std::string text = "x";
    for (std::size_t k = 0; k < count; ++k) text = "${U:-" + text + "}";
    return text;
  };
  CHECK(values.joined(nested(32)) == "x");
  CHECK(values.joined(nested(33)) == unknown("x"));
  const auto more = [](std::size_t count) {
    std::string text = "x";
    for (std::size_t k = 0; k < count; ++k) text = "${E+" + text + "}";
    return text;
  };
  CHECK(some_values().joined(more(32)) == "x");
  CHECK(some_values().joined(more(33)) == unknown("x"));
}

TEST_CASE("work is spent up to its limit, and then for good") {
  ShellWork work;
  CHECK(work.spend(ShellWork::kMost - 1));
  CHECK_FALSE(work.exhausted());
  CHECK_FALSE(work.spend(1));
  CHECK(work.exhausted());
  CHECK_FALSE(work.spend(0));
}

}  // namespace plumb

TEST_SUITE_END();
