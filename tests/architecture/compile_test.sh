#!/usr/bin/env bash
# compile.py itself, in a repository of its own: it finds what units hide, and a grouping that does not compile.
#   tests/architecture/compile_test.sh COMPILER
set -euo pipefail
compiler=$1
script=$(cd -- "$(dirname -- "$0")" && pwd)/compile.py
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cd "$tree"
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
unset PLUMB_SINCE
git init -q .
mkdir -p sim build/sim/CMakeFiles/plumb_sim.dir/Unity
echo 'build/' >.gitignore

unit=$tree/build/sim/CMakeFiles/plumb_sim.dir/Unity/unity_0_cxx.cxx
# compile_commands.json of the given sources.
commands_of() {
  local source comma=
  echo '['
  for source in "$@"; do
    echo "$comma{\"directory\": \"$tree\", \"file\": \"$source\", \"command\": \"$compiler -I. -o x.o -c $source\"}"
    comma=,
  done
  echo ']'
}

# says STATUS TEXT ARGUMENTS...
says() {
  local expected=$1 text=$2 status=0 output
  shift 2
  output=$("$script" "$@" --commands build 2>&1) || status=$?
  [ "$status" = "$expected" ] && grep -q -- "$text" <<<"$output" && return
  echo "$output"
  echo "$*: expected status $expected, got $status, and: $text"
  exit 1
}

echo 'inline int three() { return 3; }' >sim/three.hpp
printf '#include "sim/three.hpp"\nint a() { return three(); }\n' >sim/a.cpp
echo 'int b() { return 2; }' >sim/b.cpp
commands_of "$tree"/sim/{a,b}.cpp >build/compile_commands.json
git add . && git commit -qm one && git commit -qm two --allow-empty
says 0 '^3 compiled, 0 failed' alone all

# A source that only compiles after its neighbour, and a header that does not name what it needs.
echo 'int b() { return three(); }' >sim/b.cpp
echo 'inline int four() { return three() + 1; }' >sim/four.hpp
git add . && git commit -qm three
says 1 '^sim/b.cpp does not compile' alone all
says 1 '^sim/four.hpp does not compile' alone all
says 1 '^sim/b.cpp does not compile' alone # for it changed
printf '#include "sim/three.hpp"\nint b() { return three(); }\n' >sim/b.cpp
rm sim/four.hpp
git add -A . && git commit -qm four
says 0 '0 failed' alone all

# A commit to compare with that is not there is no reason to compile less.
PLUMB_SINCE=elsewhere says 1 '^PLUMB_SINCE: no commit elsewhere here' alone

# What a header's change breaks is found in what includes it.
echo 'inline int drei() { return 3; }' >sim/three.hpp
says 1 '^sim/a.cpp does not compile' alone
git checkout -q sim/three.hpp

# Two sources that compile in one order, and not in the other.
printf 'namespace {\nint c() { return 1; }\n}\nint a() { return c(); }\n' >sim/a.cpp
printf 'int b() { return 2; }\n#pragma GCC poison c\n' >sim/b.cpp
printf '#include "%s"\n#include "%s"\n' "$tree"/sim/{a,b}.cpp >"$unit"
commands_of "$unit" >build/compile_commands.json
says 1 '^plumb_sim in reverse does not compile' together all
says 1 '^2 compiled, 1 failed' together all
printf '#include "%s"\n' "$tree/sim/a.cpp" >"$unit"
says 0 '^2 compiled, 0 failed' together all
echo "what units hide is found"
