#include "models/launches/shell_script.hpp"

#include <string>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"

TEST_SUITE_BEGIN("models");

namespace {

using namespace plumb;

/// The words of the last command.
std::string last_command(const std::string& script, const ShellValues& given = {}) {
  const ShellRun run = follow_shell_script(script, "x.sh", given);
  std::string text;
  if (run.commands.empty()) return text;
  for (const ShellWord& word : run.commands.back()) text += "[" + word.text + "]";
  return text;
}

}  // namespace

TEST_CASE("words of a script are replaced and taken apart as bash does") {
  CHECK(last_command("A='x y'\nrun $A \"$A\" '$A'") == "[run][x][y][x y][$A]");
  CHECK(last_command("run ${N:-8} ${N-9} \"${N:+z}\"") == "[run][8][9][]");
  CHECK(last_command("N=\nrun ${N:-8} ${N-9}") == "[run][8]");
  CHECK(last_command("A=(1 \"2 3\")\nA+=(4)\nrun ${A[@]} \"${A[@]}\" ${#A[@]} ${A[1]}") ==
        "[run][1][2][3][4][1][2 3][4][3][2][3]");
  CHECK(last_command("F=a/b.tar.gz\nrun ${F##*/} ${F%.*} ${F%%.*} ${F/a/c}") ==
        "[run][b.tar.gz][a/b.tar][a/b][c/b.tar.gz]");
  CHECK(last_command("P=4\nrun $((2*P+1)) $(( (P-1)**2 )) $(expr 3 \\* 5)") == "[run][9][9][15]");
  CHECK(last_command("A=--x\nA+=\" --y\"\nrun $A \\\n  --z # not this\n") == "[run][--x][--y][--z]");
}

TEST_CASE("conditions, cases, loops and functions decide which commands run") {
  CHECK(last_command("X=3\nif [ $X -gt 2 ] && [[ \"$X\" == 3* ]]; then run a; else run b; fi") == "[run][a]");
  CHECK(last_command("if [ -z \"$UNSET\" ]; then run a; elif true; then run b; fi") == "[run][a]");
  CHECK(last_command("case llama-8b in gpt*) run a;; llama-*|x) run b;; *) run c;; esac") == "[run][b]");
  CHECK(last_command("for n in 1 2 3; do S=\"$S,$n\"; done\nS=\nfor n in 1 2 3; do S+=$n; done\nrun $S") ==
        "[run][123]");
  CHECK(last_command("f() { local k=$1; run $k $#; }\nf 7 8") == "[run][7][2]");
  CHECK(last_command("CMD=\"run --a $((1+1))\"\neval $CMD") == "[run][--a][2]");
  CHECK(last_command("while [[ $# -gt 0 ]]; do shift; done\nrun $# \"$@\"") == "[run][0]");
  CHECK(last_command("read -r -d '' T <<EOF\n--n 4\nEOF\nrun $T") == "[run][--n][4]");
}

TEST_CASE("what depends on other programs is not followed, and said") {
  const ShellRun run =
      follow_shell_script("X=1\nif [ -f there ]; then X=2; fi\nsource env.sh\nrun $X $(hostname)", "x.sh", {});
  CHECK(run.not_followed == std::vector<std::string>{"2: if [ -f there ]", "3: source env.sh"});
  CHECK(run.commands.back()[1].text == "1");
  CHECK(run.commands.back()[2].text == "\x01$(hostname)\x02");
}

TEST_CASE("scripts that end too early or never end are refused with their line") {
  CHECK_THROWS_WITH_AS(follow_shell_script("a\nX=\"b", "x.sh", {}), "x.sh:2: expected the end of what begins with \"",
                       Error);
  CHECK_THROWS_AS(follow_shell_script("f() { f; }\nf", "x.sh", {}), Error);
  CHECK_NOTHROW(follow_shell_script("while true; do X=1; done", "x.sh", {}));
}

TEST_CASE("a script whose values grow without end is refused with its line, whatever they grow by") {
  const std::string rounds = "for k in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28; do ";
  const std::vector<std::string> growing{
      "x=ab\n" + rounds + "x=$x$x; done",
      "x=ab\n" + rounds + "x+=$x; done",
      "x=(a b)\n" + rounds + "x+=(${x[@]}); done",
      "x=('' '')\n" + rounds + "x+=(\"${x[@]}\"); done",
      "x=ab\n" + rounds + "x=${x//a/aba}; done",
      "x='run $x $x $x $x'\n" + rounds + "x=\"$x$x\"; eval $x; done",
      "\nf() { f $@ $@; }; f a b",
  };
  for (const std::string& script : growing) {
    CAPTURE(script);
    CHECK_THROWS_WITH_AS(follow_shell_script(script, "x.sh", {}),
                         "x.sh:2: the variables grow too long to follow, expected texts of a few thousand letters",
                         Error);
  }
}

TEST_CASE("sums of sums of sums are refused when reading them takes too long") {
  std::string script;
  for (char name = 'a'; name < 'z'; ++name) {
    script += std::string(1, name) + "=" + std::string(1, static_cast<char>(name + 1)) + "+" +
              std::string(1, static_cast<char>(name + 1)) + "\n";
  }
  CHECK(last_command("z=1\n" + script.substr(script.size() - 36) + "run $((t))") == "[run][64]");
  CHECK_THROWS_WITH_AS(follow_shell_script("z=1\n" + script + "run $((a))", "x.sh", {}),
                       "x.sh:27: the variables grow too long to follow, expected texts of a few thousand letters",
                       Error);
}

TEST_CASE("a function has its own arguments, and gives back those of its caller") {
  CHECK(last_command("g() { run $1 $2 $#; }\nf() { g $2; run2 $1 $2; }\nf 7 8") == "[run2][7][8]");
  CHECK(follow_shell_script("g() { run $# ${2:-none}; }\nf() { g $2; }\nf 7 8", "x.sh", {}).commands.back()[2].text ==
        "none");
}

TEST_SUITE_END();
