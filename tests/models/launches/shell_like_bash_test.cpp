// Scripts and what bash 5.2 makes of them: `run` prints its words, each in brackets. To look a row up:
//   bash -c 'run() { for word in run "$@"; do printf "[%s]" "$word"; done; }; SCRIPT'
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "models/launches/shell_script.hpp"
#include "models/launches/shell_tokens.hpp"
#include "models/launches/shell_values.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {
namespace {

using Row = std::pair<std::string, std::string>;

std::string words_of_run(const std::string& script) {
  const ShellRun run = follow_shell_script(script, "x.sh", {});
  std::string text;
  for (const std::vector<ShellWord>& command : run.commands) {
    if (command.front().text != "run") continue;
    for (const ShellWord& word : command) text += "[" + word.text + "]";
  }
  return text;
}

}  // namespace

TEST_CASE("a script comes to the words that bash gives its last command") {
  const std::vector<Row> rows{
      {"F=a.b.c; run ${F#*.} ${F##*.} ${F%.*} ${F%%.*} ${F#x} ${F%x}", "[run][b.c][c][a.b][a][a.b.c][a.b.c]"},
      {"F=aXbXc; run ${F/X/-} ${F//X/-} ${F/Y/-} ${F//X} ${F/X}", "[run][a-bXc][a-b-c][aXbXc][abc][abXc]"},
      {"N=LlaMa; run ${N,,} ${N^^} ${#N}", "[run][llama][LLAMA][5]"},
      {"E=; run ${E:-a} ${E-b} ${E:+c} ${E+d} ${U:-e} ${U-f} ${U:+g} ${U+h}", "[run][a][d][e][f]"},
      {"E=; V=v; run ${V:-a} ${V-b} ${V:+c} ${V+d} ${V:=e} \"${E:=f}\"", "[run][v][v][c][d][v][f]"},
      {"A=(p q 'r s'); run ${#A[@]} ${A[0]} ${A[2]} \"${A[2]}\" \"${A[@]}\" \"${A[*]}\"",
       "[run][3][p][r][s][r s][p][q][r s][p q r s]"},
      {"A=(1 2); A+=(3); A+=(4 5); run ${A[@]} ${#A[@]} ${A[4]}", "[run][1][2][3][4][5][5][5]"},
      {"A=(); run \"${A[@]}\" ${#A[@]} x", "[run][0][x]"},
      {"B=A; A=7; run ${!B} ${#B}", "[run][7][1]"},
      {"X=1; X+=2; run $X$X ${X}3 \"$X\"'$X' \\$X", "[run][1212][123][12$X][$X]"},
      {"X='a  b'; run $X \"$X\"", "[run][a][b][a  b]"},
      {"run a\\ b 'c d' \"e f\" g\"h i\"j", "[run][a b][c d][e f][gh ij]"},
      {"run \"a\\\"b\" \"c\\\\d\" \"e\\nf\" \"g\\$h\"", "[run][a\"b][c\\d][e\\nf][g$h]"},
      {"run $(echo a b) \"$(echo a b)\" `echo c`", "[run][a][b][a b][c]"},
      {"run $(expr 7 - 2) $(expr 2 \\* 3 + 1)", "[run][5][7]"},
      {"run \"\" '' a", "[run][][][a]"},
      {"set_() { run $# $1 $2 \"$@\"; }; set_ x 'y z'", "[run][2][x][y][z][x][y z]"},
      {"f() { g 1 2; run $1 $#; }; g() { :; }; f 9", "[run][9][1]"},
      {"if true && false; then run a; else run b; fi", "[run][b]"},
      {"if true || false; then run a; else run b; fi", "[run][a]"},
      {"if false || true && false; then run a; else run b; fi", "[run][b]"},
      {"if ! true; then run a; elif ! false; then run b; else run c; fi", "[run][b]"},
      {"if false; then run a; elif false; then run b; else run c; fi", "[run][c]"},
      {"if [ 3 -eq 3 -a 4 -ne 4 ]; then run a; else run b; fi", "[run][b]"},
      {"if [ 3 -eq 4 -o 4 -ne 5 ]; then run a; else run b; fi", "[run][a]"},
      {"if [[ 3 -lt 3 ]]; then run a; else run b; fi", "[run][b]"},
      {"if [[ 3 -le 3 ]]; then run a; else run b; fi", "[run][a]"},
      {"if [[ 3 -gt 3 ]]; then run a; else run b; fi", "[run][b]"},
      {"if [[ 3 -ge 3 ]]; then run a; else run b; fi", "[run][a]"},
      {"if [[ 2 -ge 3 || 3 -lt 4 ]]; then run a; else run b; fi", "[run][a]"},
      {"if [[ 2 -lt 3 && 5 -lt 4 ]]; then run a; else run b; fi", "[run][b]"},
      {"if [[ ( 2 -lt 3 || 1 -gt 2 ) && ! 5 -lt 4 ]]; then run a; else run b; fi", "[run][a]"},
      {"if [[ abc == a* ]]; then run a; else run b; fi", "[run][a]"},
      {"if [[ abc != a? ]]; then run a; else run b; fi", "[run][a]"},
      {"X=; if [ -n \"$X\" ]; then run a; else run b; fi", "[run][b]"},
      {"X=; if [ -z \"$X\" ]; then run a; else run b; fi", "[run][a]"},
      {"X=y; if [ \"$X\" ]; then run a; else run b; fi", "[run][a]"},
      {"X=y; if [ \"$X\" = y ] && [ \"$X\" != z ]; then run a; else run b; fi", "[run][a]"},
      {"if (( 3 > 2 && 1 )); then run a; else run b; fi", "[run][a]"},
      {"if (( (3 > 2) * 0 )); then run a; else run b; fi", "[run][b]"},
      {"if ((2*(1+1) == 4)); then run a; else run b; fi", "[run][a]"},
      {"case x.7b in *.13b) run a;; *.7b|z) run b;; *) run c;; esac", "[run][b]"},
      {"case q in a) run a;; *) run c;; esac", "[run][c]"},
      {"case b in a|b) run ab;; b) run b;; esac", "[run][ab]"},
      {"L=; for i in a b c; do L=$L$i; done; run $L", "[run][abc]"},
      {"L=; for i in 1 2 3; do for j in x y; do L=$L$i$j; done; done; run $L", "[run][1x1y2x2y3x3y]"},
      {"i=0; while [ $i -lt 4 ]; do i=$((i+1)); done; run $i", "[run][4]"},
      {"i=0; until [ $i -ge 4 ]; do i=$((i+2)); done; run $i", "[run][4]"},
      {"true && X=1 || X=2; run $X", "[run][1]"},
      {"false && X=1 || X=2; run $X", "[run][2]"},
      {"X=0; { X=1; }; run $X", "[run][1]"},
      {"X=5; unset X; run ${X:-gone}", "[run][gone]"},
      {"X=3 ; Y=$X; X=4; run $X $Y", "[run][4][3]"},
      {"export P=6; readonly Q=7; run $P $Q", "[run][6][7]"},
      {"eval \"Z=1\"; run $Z", "[run][1]"},
      {"C='run a'; eval \"$C b\"", "[run][a][b]"},
      {"L=; A=(x); for w in \"${A[@]}\" y; do L=\"$L <$w>\"; done; run $L", "[run][<x>][<y>]"},
      {"P=/a/b/c.sh; run ${P##*/} ${P%/*}", "[run][c.sh][/a/b]"},
      {"N=8; run --n=$N --m $((N*2)) \"--k=${N}x\"", "[run][--n=8][--m][16][--k=8x]"},
      {"run $(( 7 % 4 ))$(( -7 / 2 ))", "[run][3-3]"},
      {"X=a; case $X in [ab]) run in;; *) run out;; esac", "[run][in]"},
      {"if [[ -z $NOTHING && -n x ]]; then run a; else run b; fi", "[run][a]"},
      {"X=1; if [ $X == 1 ]; then run one; fi", "[run][one]"},
      {"run a # b\n", "[run][a]"},
      {"run a; # c\n", "[run][a]"},
      {"run 'a'\"'b'\"\\'c", "[run][a'b''c]"},
      {"X=x; run \"${X}_$X.$X\" ${X}y$X", "[run][x_x.x][xyx]"},
      {"function h { run in $1; }; h 5", "[run][in][5]"},
      {"h() {\n run in $1\n}\nh 6", "[run][in][6]"},
      {"L=; for i in 1 2\ndo\n L=$L-$i\ndone\nrun $L", "[run][-1-2]"},
      {"if true\nthen\n run yes\nfi", "[run][yes]"},
      {"X=1\nif [ $X = 2 ]\nthen run two\nelif [ $X = 1 ]\nthen run one\nelse run none\nfi", "[run][one]"},
      {"true; run a && true", "[run][a]"},
  };
  for (const auto& [script, words] : rows) {
    CAPTURE(script);
    CHECK(words_of_run(script) == words);
  }
}

TEST_CASE("elements that an array does not have are named as unknown, the first and the last are there") {
  const std::string array = "A=(p q r); run ";
  CHECK(words_of_run(array + "${A[0]}${A[2]}") == "[run][pr]");
  CHECK(words_of_run(array + "${A[3]}") ==
        "[run][\x01"
        "A[3]\x02]");
  CHECK(words_of_run(array + "${A[x]}") ==
        "[run][\x01"
        "A[x]\x02]");
  CHECK(words_of_run(array + "${A[0-1]}") ==
        "[run][\x01"
        "A[0-1]\x02]");  // bash counts from the end: not followed
  CHECK(words_of_run("run ${B[0]}") ==
        "[run][\x01"
        "B\x02]");
  CHECK(words_of_run("run ${B[@]} x") == "[run][x]");
}

TEST_CASE("arithmetic comes to what bash computes") {
  const std::vector<std::pair<std::string, std::int64_t>> rows{
      {"7/2", 3},      {"-7/2", -3},    {"7%3", 1},     {"-7%3", -1},
      {"2**10", 1024}, {"2**0", 1},     {"3**4", 81},   {"2**62", std::int64_t{1} << 62},
      {"1+2*3", 7},    {"(1+2)*3", 9},  {"10-2-3", 5},  {"12/2/3", 2},
      {"2*3%4", 2},    {"1<2", 1},      {"2<2", 0},     {"2<=2", 1},
      {"3<=2", 0},     {"3>2", 1},      {"2>2", 0},     {"2>=2", 1},
      {"1>=2", 0},     {"2==2", 1},     {"2==3", 0},    {"2!=3", 1},
      {"2!=2", 0},     {"1&&2", 1},     {"1&&0", 0},    {"0&&1", 0},
      {"0||0", 0},     {"0||2", 1},     {"1||0", 1},    {"!0", 1},
      {"!5", 0},       {"- 4 + 1", -3}, {"+3", 3},      {"--4", 4},
      {"1+2==3", 1},   {"1<2==1", 1},   {"2**3**1", 8}, {"-2**2", 4},
  };
  ShellValues values;
  for (const auto& [expression, value] : rows) {
    CAPTURE(expression);
    CHECK(shell_arithmetic(expression, values) == value);
  }
  values.set("x", {"5"});
  values.set("y", {"x+1"});
  CHECK(shell_arithmetic("y*2", values) == 12);
  CHECK(shell_arithmetic("x > 4 && y == 6", values) == 1);
}

TEST_CASE("arithmetic that bash refuses, or whose result has no 64 bits, has no value") {
  const ShellValues values;
  for (const char* expression : {"1/0", "1%0", "2**-1", "2**64", "9223372036854775807+1", "-9223372036854775807-2",
                                 "3037000500*3037000500", "1+", "(1", "1)", "*2", "", "3 4", "a b", "2**63",
                                 "-(-9223372036854775807-1)", "(-9223372036854775807-1)/-1", "9223372036854775808"}) {
    CAPTURE(expression);
    CHECK_FALSE(shell_arithmetic(expression, values).has_value());
  }
  CHECK(shell_arithmetic("9223372036854775806+1", values) == INT64_MAX);
  CHECK(shell_arithmetic("-9223372036854775807-1", values) == INT64_MIN);
  CHECK(shell_arithmetic("1**63", values) == 1);
  CHECK_FALSE(shell_arithmetic("1**64", values).has_value());  // no shift would be as long
  // 64 brackets are read, and not one more.
  CHECK(shell_arithmetic(std::string(63, '(') + "7" + std::string(63, ')'), values) == 7);
  CHECK_FALSE(shell_arithmetic(std::string(64, '(') + "7" + std::string(64, ')'), values).has_value());
}

TEST_CASE("names of variables have letters, digits and underscores, and no digit first") {
  for (const char* name : {"a", "Z", "_", "aZ_09", "z9", "A0"}) CHECK(is_shell_name(name));
  for (const char* name : {"", "0a", "9", "a-b", "a.b", "a b", "[", "`", "{", "@", "/", ":"}) {
    CAPTURE(name);
    CHECK_FALSE(is_shell_name(name));
  }
  CHECK(assigned_name("a=b") == std::pair<std::string_view, std::size_t>("a", 2));
  CHECK(assigned_name("a+=b") == std::pair<std::string_view, std::size_t>("a", 3));
  CHECK(assigned_name("a[1]=b") == std::pair<std::string_view, std::size_t>("a", 5));
  CHECK_FALSE(assigned_name("=b").has_value());
  CHECK_FALSE(assigned_name("ab").has_value());
  CHECK_FALSE(assigned_name("--a=b").has_value());
}

}  // namespace plumb

TEST_SUITE_END();
