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

TEST_CASE("quotes, values, conditions, loops and functions come to what bash makes of them") {
  const std::vector<Row> rows{
      {"X=ab; run ${X:-${U:-q}} ${X:+\"${X}c\"} ${U:+$X} \"${U:+$X}\"", "[run][ab][abc][]"},
      {"X='a b'; run ${X:-q} \"${X:-q}\" ${X:+c d} \"${X:+c d}\"", "[run][a][b][a b][c][d][c d]"},
      {"X=; run \"${X:-p}\" \"${X-p}\" \"${X:+p}\" \"${X+p}\" ${X-} end", "[run][p][][][p][end]"},
      {"X=ab.cd.ef; run ${X%.cd*} ${X%%.*f} ${X#ab} ${X##*b} ${X%ef} ${X%%*}", "[run][ab][ab][.cd.ef][.cd.ef][ab.cd.]"},
      {"X=aaa; run ${X#a} ${X##a} ${X%a} ${X%%a} ${X#*a} ${X##*a} ${X%a*} ${X%%a*} end",
       "[run][aa][aa][aa][aa][aa][aa][end]"},
      {"X=aabaa; run ${X/a/b} ${X//a/bb} ${X//aa/c} ${X//b} ${X/ab/}", "[run][babaa][bbbbbbbbb][cbc][aaaa][aaa]"},
      {"X=a; run ${X/a/a b} \"${X/a/a b}\" ${X/a/$X$X}", "[run][a][b][a b][aa]"},
      {"X=Q9_z; run ${X,,} ${X^^}", "[run][q9_z][Q9_Z]"},
      {"A=(a 'b c' d); run \"${A[@]}\" ; run \"x${A[@]}y\" \"${A[*]}\" ${A[*]}",
       "[run][a][b c][d][run][xa][b c][dy][a b c d][a][b][c][d]"},
      {"A=(1 2 3); i=1; run ${A[i]} ${A[$i]} ${A[i+1]} ${A[$((i-1))]}", "[run][2][2][3][1]"},
      {"A=(1 2 3); A=(9); run ${A[@]} ${#A[@]}", "[run][9][1]"},
      {"A=(x); A+=(y \"z w\"); A+=(); run \"${A[@]}\" ${#A[@]}", "[run][x][y][z w][3]"},
      {"A=x; A+=y; A+=z; run $A ${#A}", "[run][xyz][3]"},
      {"A=(); A+=(q); run ${A[0]} ${#A[@]}", "[run][q][1]"},
      {"B=C; C=D; D=5; run ${!B} ${!C}", "[run][D][5]"},
      {"X=5; run $X$X \"$X-$X\" $X-$X ${X}$X'$X' \"${X}\"", "[run][55][5-5][5-5][55$X][5]"},
      {"X=5; run \\$X \"\\$X\" '\\$X' \\\\ \\\" \\' \"\\'\" \"\\\"\" a\\ b",
       "[run][$X][$X][\\$X][\\][\"]['][\\'][\"][a b]"},
      {"run \"a b\"c' d 'e\\ f g", "[run][a bc d e f][g]"},
      {"run \"\" '' \"a\" 'b' \"\"c'' d", "[run][][][a][b][c][d]"},
      {"run a\"\" ''b \"c\"'' \"\"", "[run][a][b][c][]"},
      {"X=4; run $(echo $X $((X*2))) \"$(echo \"$X $X\")\"", "[run][4][8][4 4]"},
      {"run $(expr 3 + 4) $(expr 12 / 5) $(expr 12 % 5) $(expr 9 - 4) $(expr 2 \\* 6)", "[run][7][2][2][5][12]"},
      {"run $((1+2)) $(( 3 * (4 - 1) )) $((7/2))$((7%2)) $((-3)) $((+3)) $((!3)) $((!0))",
       "[run][3][9][31][-3][3][0][1]"},
      {"X=3; Y=X+1; run $((X)) $((Y)) $((Y*2)) $((X**2)) $(($X*$X)) $((${X}+1))", "[run][3][4][8][9][9][4]"},
      {"run $((1<2)) $((2<1)) $((1<=1)) $((1>1)) $((1>=1)) $((1==1)) $((1!=1)) $((1&&0)) $((0||1))",
       "[run][1][0][1][0][1][1][0][0][1]"},
      {"run $((2+3*4-5)) $((2*3+4)) $((20-5-3)) $((20/5*2)) $((20%7*2)) $((1+1==2&&2<3||0))",
       "[run][9][10][12][8][12][1]"},
      {"X=1; if [ $X -eq 1 ]; then Y=a; fi; if [ $X -ne 1 ]; then Y=b; fi; run $Y", "[run][a]"},
      {"L=; for X in 1 2 3; do if [ $X -lt 2 ]; then L=$L.lt; fi; if [ $X -le 2 ]; then L=$L.le; fi; if [ $X -gt 2 ]; "
       "then L=$L.gt; fi; if [ $X -ge 2 ]; then L=$L.ge; fi; if [ $X -eq 2 ]; then L=$L.eq; fi; if [ $X -ne 2 ]; then "
       "L=$L.ne; fi; done; run $L",
       "[run][.lt.le.ne.le.ge.eq.gt.ge.ne]"},
      {"L=; for X in 1 2 3; do if [[ $X -lt 2 ]]; then L=$L.lt; fi; if [[ $X -le 2 ]]; then L=$L.le; fi; if [[ $X -gt "
       "2 ]]; then L=$L.gt; fi; if [[ $X -ge 2 ]]; then L=$L.ge; fi; if [[ $X < 2 ]]; then L=$L.below; fi; if [[ $X > "
       "2 ]]; then L=$L.above; fi; done; run $L",
       "[run][.lt.le.below.le.ge.gt.ge.above]"},
      {"L=; for X in \"\" a; do if [ -z \"$X\" ]; then L=$L.z; fi; if [ -n \"$X\" ]; then L=$L.n; fi; if [ \"$X\" ]; "
       "then L=$L.x; fi; if [ ! \"$X\" ]; then L=$L.no; fi; if [[ $X ]]; then L=$L.X; fi; if test \"$X\"; then L=$L.t; "
       "fi; done; run $L",
       "[run][.z.no.n.x.X.t]"},
      {"L=; for X in a b; do for Y in a b; do if [ $X = a -a $Y = a ]; then L=$L.and; fi; if [ $X = a -o $Y = a ]; "
       "then L=$L.or; fi; if [[ $X == a && $Y == a ]]; then L=$L.AND; fi; if [[ $X == a || $Y == a ]]; then L=$L.OR; "
       "fi; if [[ ! ( $X == a || $Y == a ) ]]; then L=$L.NOT; fi; done; done; run $L",
       "[run][.and.or.AND.OR.or.OR.or.OR.NOT]"},
      {"L=; for X in true false; do for Y in true false; do $X && $Y && L=$L.and; $X || $Y && L=$L.or; $X && $Y || "
       "L=$L.not; ! $X && L=$L.no; if $X; then if $Y; then L=$L.tt; else L=$L.tf; fi; elif $Y; then L=$L.ft; else "
       "L=$L.ff; fi; done; done; run $L",
       "[run][.and.or.tt.or.not.tf.or.not.no.ft.not.no.ff]"},
      {"if false; then run a; elif true; then run b; elif true; then run c; else run d; fi", "[run][b]"},
      {"if true; then if false; then run a; else run b; fi; else run c; fi", "[run][b]"},
      {"if false; then if true; then run a; fi; else run c; fi", "[run][c]"},
      {"if false; then run a; fi; run b", "[run][b]"},
      {"case abc in a) run a;; ab*) run ab;; *) run z;; esac", "[run][ab]"},
      {"case abc in a|abc|b) run in;; *) run z;; esac", "[run][in]"},
      {"case abc in (abc) run in;; (*) run out;; esac", "[run][in]"},
      {"case \"\" in \"\") run empty;; *) run z;; esac", "[run][empty]"},
      {"case abc in ?b?) run one;; *) run z;; esac", "[run][one]"},
      {"case abc in [!b]bc) run one;; *) run z;; esac", "[run][one]"},
      {"X=a; case $X in b) Y=1;; a) Y=2; Z=3;; *) Y=4;; esac; run $Y $Z", "[run][2][3]"},
      {"X=a; case $X in b) Y=1;; esac; run ${Y:-none}", "[run][none]"},
      {"for X in 1; do case $X in 1) case a in a) Y=in;; esac;; *) Y=out;; esac; done; run $Y", "[run][in]"},
      {"L=; for X in a \"b c\" d; do L=\"$L<$X>\"; done; run $L", "[run][<a><b][c><d>]"},
      {"L=; A=\"1 2 3\"; for X in $A; do L=$L$((X*X)).; done; run $L $X", "[run][1.4.9.][3]"},
      {"for X in; do L=never; done; run ${L:-none}", "[run][none]"},
      {"L=; for X in 1 2; do for Y in 1 2; do if [ $X -ne $Y ]; then L=$L$X$Y.; fi; done; done; run $L",
       "[run][12.21.]"},
      {"L=; i=0; while [ $i -lt 3 ]; do L=$L$i; i=$((i+1)); done; run $L $i", "[run][012][3]"},
      {"L=; i=3; until [ $i -eq 0 ]; do L=$L$i; i=$((i-1)); done; run $L $i", "[run][321][0]"},
      {"while false; do L=1; done; until true; do L=2; done; run ${L:-none}", "[run][none]"},
      {"f() { run \"$#\" \"$1\" \"$2\" \"$@\"; }; f a 'b c'", "[run][2][a][b c][a][b c]"},
      {"f() { A=$1; shift; }; f 5; run $A", "[run][5]"},
      {"f() { local X=$1; Y=$X; }; f 7; run $Y", "[run][7]"},
      {"function f() { run $1$2; }; f a b", "[run][ab]"},
      {"function f { run $1; }; f a", "[run][a]"},
      {"f() { g $2 $1; }; g() { run $1 $2; }; f a b", "[run][b][a]"},
      {"f() { run in; }; f; ", "[run][in]"},
      {"X=1; f() { X=2; }; run $X; f; run $X", "[run][1][run][2]"},
      {"X=1; (run $X)", "[run][1]"},
      {"X=1; { X=2; X=$X$X; }; run $X", "[run][22]"},
      {"X=1 && Y=2; run $X$Y", "[run][12]"},
      {"X=1 || Y=2; run $X${Y:-none}", "[run][1none]"},
      {"true || X=1; false && Y=1; run ${X:-none}${Y:-none}", "[run][nonenone]"},
      {"export X=1 Y=\"2 3\"; declare Z=4; readonly V=5; typeset W=6; run $X $Y $Z $V $W", "[run][1][2][3][4][5][6]"},
      {"export X; X=5; run $X", "[run][5]"},
      {"X=1; unset X; run ${X-gone}", "[run][gone]"},
      {"eval X=5; run $X", "[run][5]"},
      {"eval \"X=5; Y=6\"; run $X$Y", "[run][56]"},
      {"C=\"run a\"; $C b", "[run][a][b]"},
      {"C=(run \"a b\" c); \"${C[@]}\"", "[run][a b][c]"},
      {"run a; run b", "[run][a][run][b]"},
      {"run a | cat", "[run][a]"},
      {"run a || run b", "[run][a]"},
      {"run a && run b", "[run][a][run][b]"},
      {"run a\\\n b", "[run][a][b]"},
      {"run 'a\nb'", "[run][a\nb]"},
      {"run \"a\tb\" a\tb", "[run][a\tb][a][b]"},
      {"# run z\nrun a#b #c", "[run][a#b]"},
      {"run a ;# c", "[run][a]"},
      {"X=\"a # b\"; run \"$X\"", "[run][a # b]"},
      {"run --x=$((1+1)) --y=\"$((2+2))\" --z=${U:-3}", "[run][--x=2][--y=4][--z=3]"},
      {"run ~x", "[run][~x]"},
      {"run $ a$ \"$\" \"a$ b\" $'x'", "[run][$][a$][$][a$ b][x]"},
      {"run \"a\\\\b\" \"a\\bc\" 'a\\b' a\\bc \"a\\$b\" \"a\\`b\"", "[run][a\\b][a\\bc][a\\b][abc][a$b][a`b]"},
      {"read -r -d '' T <<EOF\na $((1+1)) \"b\"\nEOF\nrun $T", "[run][a][2][\"b\"]"},
      {"read -r -d '' T <<-EOF\n\ta b\n\tc\n\tEOF\nrun $T", "[run][a][b][c]"},
      {"X=5; read -r -d '' T <<EOF\n$X ${X}1 \\$X `echo q` \"$X\"\nEOF\nrun $T", "[run][5][51][$X][q][\"5\"]"},
      {"if [ \"a\" == \"a\" ]; then\n  run a\nfi", "[run][a]"},
      {"if [ \"a\" == \"b\" ]\nthen\n  run a\nelse\n  run b\nfi", "[run][b]"},
      {"L=; for i in 1 2\ndo\n  L=$L$i\ndone\nrun $L", "[run][12]"},
      {"f()\n{\n  run $1\n}\nf 5", "[run][5]"},
      {"X=$((1 +\n2)); run $X", "[run][3]"},
      {"if [[ \"a\" == \"a\" &&\n  1 -eq 1 ]]; then run yes; fi", "[run][yes]"},
      {"true &&\nrun yes", "[run][yes]"},
      {"false ||\nrun yes", "[run][yes]"},
      {"A=(\n a\n b # no\n c\n); run ${A[@]} ${#A[@]}", "[run][a][b][c][3]"},
      {"A=(a\n$(echo b c)); run ${#A[@]}", "[run][3]"},
      {"if (( 2 > 1 )); then run a; else run b; fi", "[run][a]"},
      {"if (( 2 - 2 )); then run a; else run b; fi", "[run][b]"},
      {"if ((1)) && ! ((0)); then run a; fi", "[run][a]"},
      {"(( 1 > 2 )) || run b", "[run][b]"},
      {"X=3; if (( X * (X - 1) == 6 )); then run a; else run b; fi", "[run][a]"},
      {"if [ -n \"${U:-}\" ]; then run a; else run b; fi", "[run][b]"},
      {"if [ \"${U}\" = \"\" ]; then run a; else run b; fi", "[run][a]"},
      {"if [ \"x$U\" = \"x\" ]; then run a; fi", "[run][a]"},
      {"if [ 10 -gt 9 ] && [ 10 -lt 9 ]; then run a; else run b; fi", "[run][b]"},
      {"if [[ 10 -gt 9 ]] && [[ 10 -gt 8 ]]; then run a; else run b; fi", "[run][a]"},
      {"if ! [ 1 -eq 2 ]; then run a; fi", "[run][a]"},
      {"if [ ! 1 -eq 2 ]; then run a; fi", "[run][a]"},
      {"if [[ abc = *c ]]; then run a; fi", "[run][a]"},
      {"if [[ abc != *d ]]; then run a; fi", "[run][a]"},
      {"if [[ \"a b\" == \"a b\" ]]; then run a; fi", "[run][a]"},
      {"set -e; run a", "[run][a]"},
      {":; run a", "[run][a]"},
      {"X=(a b); Y=(\"${X[@]}\" c); run ${#Y[@]} ${Y[2]}", "[run][3][c]"},
      {"X=\"--a 1\"; X=\"$X --b 2\"; run $X", "[run][--a][1][--b][2]"},
      {"X=\"\n --a 1\n --b 2\n\"; run $X", "[run][--a][1][--b][2]"},
      {"X=\"a \\\nb\"; run \"$X\"", "[run][a b]"},
      {"N=2; run $(($N*8)) $((N*8)) $((N*(8+1)))", "[run][16][16][18]"},
      {"W=$((2 * 4)); G=$((W / 2 / 2)); run $W $G", "[run][8][2]"},
      {"P=/x/y.z.sh; B=$(basename $P); run ${P##*/} ${P%%.*} ${P#/}", "[run][y.z.sh][/x/y][x/y.z.sh]"},
      {"X=1; X=$X$X; X=$X$X; run $X ${#X}", "[run][1111][4]"},
      {"L=12; H=$((L*64)); run --h $H ${H}k", "[run][--h][768][768k]"},
      {"run ${U:-$((3*3))} ${U:-`echo 5`} ${U:-$(echo 6)}", "[run][9][5][6]"},
      {"run ${U:-a}b${U:-c} ${U:-}x", "[run][abc][x]"},
      {"run \"$(echo \"a  b\")\" $(echo \"a  b\")", "[run][a  b][a][b]"},
      {"X='$Y'; Y=2; run $X; eval run $X", "[run][$Y][run][2]"},
      {"X=v; V=v; if [ \"$X\" = \"$V\" ]; then run same; fi", "[run][same]"},
      {"[ 1 -eq 1 ] && X=1 || X=2; [ 1 -eq 2 ] && Y=1 || Y=2; run $X$Y", "[run][12]"},
      {"[[ 1 -eq 1 ]] && { X=1; Y=1; } || { X=2; Y=2; }; run $X$Y", "[run][11]"},
      {"X=a,b,c; run ${X//,/ } \"${X//,/ }\"", "[run][a][b][c][a b c]"},
      {"X=a-b; run ${X%-*} ${X#*-}", "[run][a][b]"},
      {"f() { if [ $1 -gt 0 ]; then run $1; f $(($1-1)); fi; }; f 3", "[run][3][run][2][run][1]"},
      {"X=0; for i in 1 2 3 4; do X=$((X+i)); done; run $X", "[run][10]"},
      {"run $((2**3**2)) $((2**3*2)) $((2*2**3)) $((-2**3))", "[run][512][16][16][-8]"},
      {"run $((1 + 2)) $((1+ 2)) $(( 1 ))", "[run][3][3][1]"},
      {"run $(( (1) )) $(((1)+(2)))", "[run][1][3]"},
      {"A=(x); run ${#A}", "[run][1]"},
      {"run ${U:-d e} \"${U:-d e}\" ${U:-${W:-f}}", "[run][d][e][d e][f]"},
      {"X=a/b/c; run ${X/b/d} ${X//b/-} ${X/c} ${X/a/} ${X/abc/d}", "[run][a/d/c][a/-/c][a/b/][/b/c][a/b/c]"},
      {"run a 2>&1", "[run][a]"},
      {"run a b 2> err", "[run][a][b]"},
      {"X=qwe; run ${#X} \"${#X}\"", "[run][3][3]"},
      {"run \"$(echo c d)\" $(echo c d)", "[run][c d][c][d]"},
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
