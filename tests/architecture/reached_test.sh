#!/usr/bin/env bash
# reached.py itself, in a repository of its own that ninja builds: what a change reaches, and what it does not.
set -euo pipefail
script=$(cd -- "$(dirname -- "$0")" && pwd)/reached.py
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cd "$tree"
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q .
mkdir -p models sim tests/sim tests/models tests/fuzz/corpus/number build
echo 'build/' >.gitignore
echo 'inline int one() { return 1; }' >models/one.hpp
echo '#include "models/one.hpp"' >models/one.cpp
echo 'inline int two() { return 2; }' >sim/two.hpp
echo '#include "sim/two.hpp"' >tests/sim/two_test.cpp
echo '#include "models/one.hpp"' >tests/models/one_test.cpp
echo '#include "models/one.hpp"' >tests/fuzz/number_fuzz.cpp
echo 7 | tee tests/sim/data.txt tests/fuzz/corpus/number/a >/dev/null
touch README.md
cat >build/build.ninja <<'N'
rule cc
  command = g++ -I.. -MD -MF $out.d -c -o $out $in
  depfile = $out.d
  deps = gcc
rule link
  command = cat $in >$out
build one.o: cc ../models/one.cpp
build one_test.o: cc ../tests/models/one_test.cpp
build two_test.o: cc ../tests/sim/two_test.cpp
build models_test: link one_test.o one.o
build sim_test: link two_test.o one.o
N
ninja -C build >/dev/null
git add . && git commit -qm one
first=$(git rev-parse HEAD)

# reaches WHAT EXPECTED: after the working tree changed
reaches() {
  local targets readers
  targets=$("$script" targets "$first" build models_test sim_test | paste -sd' ')
  readers=$("$script" readers "$first" | paste -sd' ')
  [ "$targets/$readers" = "$2" ] || { echo "$1: expected '$2', got '$targets/$readers'" && exit 1; }
  git checkout -q "$first" -- . && git clean -qfd
}

reaches 'nothing changed' '/'
# Scripts read lines: nothing reached is none of them.
[ "$("$script" readers "$first" | wc -l)/$("$script" targets "$first" build models_test | wc -l)" = 0/0 ] || { echo 'nothing is no line' && exit 1; }
echo >>README.md
reaches 'a text' '/'
echo >>sim/two.hpp
reaches 'a header reaches the tests that include it' 'sim_test/'
echo >>models/one.cpp
reaches 'a source reaches the tests that are linked with it, and readers are those that are included' 'models_test sim_test/number'
echo >>tests/models/one_test.cpp
reaches 'a test reaches itself' 'models_test/'
echo 8 >tests/sim/data.txt
reaches 'data of a test belongs to it' 'sim_test/'
echo 8 >tests/sim/more.txt
reaches 'also when git does not know it' 'sim_test/'
echo 8 >tests/fuzz/corpus/number/a
reaches 'an input belongs to its fuzz target' '/number'
touch CMakeLists.txt
reaches 'how it is built reaches everything' 'models_test sim_test/'
[ "$("$script" targets elsewhere build models_test sim_test | paste -sd' ')" = 'models_test sim_test' ] || { echo 'an unknown commit reaches everything' && exit 1; }
echo >>models/one.cpp
"$script" targets "$first" build no_test 2>"$tree/err" && { echo 'a target that is not there is an error' && exit 1; }
grep -q '^reached.py: build has no target no_test' "$tree/err" || { cat "$tree/err" && exit 1; }
echo 'reached.py says what a change reaches'
