#!/usr/bin/env bash
# The check itself: a tree with one collision of every kind must give each of these findings, and no more.
set -euo pipefail
check=$(cd -- "$(dirname -- "$0")" && pwd)/local_names.py
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cd "$tree"
mkdir -p models schedules/deep sim trainer tools tests/sim

# A source of a hall with the given lines in an unnamed namespace of plumb.
source_of() {
  local file=$1
  shift
  { echo 'namespace plumb {' && echo 'namespace {' && printf '%s\n' "$@" && printf '}\n}\n'; } >"$file"
}

expect() {
  local status=0 output line
  output=$("$check" "$tree") || status=$?
  [ "$status" = $(($# > 0)) ] || { echo "$output" && echo "expected status $(($# > 0)), got $status" && exit 1; }
  for line in "$@"; do
    grep -qxF -- "$line" <<<"$output" || { echo "$output" && echo "not found: $line" && exit 1; }
  done
  [ "$(wc -l <<<"$output")" = $(($# + 1)) ] || { echo "$output" && echo "more findings than expected" && exit 1; }
}

# What may stand side by side: other halls, overloads that nothing confuses, equal aliases, members, names of functions.
source_of models/a.cpp 'constexpr long kMost = long{1} << 20;' 'using Json = nlohmann::json;' 'int size(const Cluster& of);' \
  'struct Reader { int at; struct Inner {}; };' 'int sum() { constexpr int kOwn = 1; return kOwn; } // kFoo' \
  'const char* kText = "struct Writer {";' 'void go(int) { struct Inner {}; }' 'using plumb::Network;'
source_of models/b.cpp 'using Json = nlohmann::json;' 'int size(const Network& of);' 'int at() { return 0; }' \
  'struct Writer { int at; };' 'using plumb::Network;'
source_of schedules/c.cpp 'constexpr long kMost = 3;' 'struct Reader {};'
printf '#pragma once\nnamespace plumb {\nstruct Network;\nstruct Network { int at; };\n}\n' >models/network.hpp
expect

source_of schedules/deep/one.cpp 'constexpr std::int64_t kMostUnits = std::int64_t{1} << 24;' 'struct Grid { int a; };' \
  'void refuse(const std::string& what) {}' 'int share(int part, int of = 2) { return part; }' 'using Key = int;' \
  'template <class T> T* numbers(char* from) { return nullptr; }' 'int by_size(const Cluster& a) { return 0; }'
source_of schedules/two.cpp 'constexpr double kMostUnits = 3.0;' 'class Grid final : Base { };' \
  '[[noreturn]] void refuse(std::string_view text);' 'double share(double part) { return part; }' 'using Key = long;' \
  'template <class U> U* numbers(char* bytes) { return nullptr; }' 'int by_size(const Network& a) { return 0; }' \
  'int sorted() { return sort(list, by_size); }'
source_of sim/hides.cpp 'struct Network {};'
source_of sim/shadowed.cpp 'constexpr int kDeep = 1;'
source_of sim/shadows.cpp 'int f() {' '  constexpr int kDeep = 2;' '  return kDeep;' '}'
printf 'namespace plumb { constexpr int kLoose = 1; static int helped() { return 1; } struct Loose {}; }\n' >trainer/a.cpp
cp trainer/a.cpp trainer/b.cpp
printf '#define PLUMB_LEFT 1\n#define PLUMB_TAKEN 2\n#undef PLUMB_TAKEN\nusing namespace std;\n' >tools/macro.cpp
printf '#pragma once\nnamespace plumb {\nclass Progress { int a; };\n}\n' >sim/progress.hpp
cp sim/progress.hpp tools/progress.hpp
source_of tests/sim/a_test.cpp 'int run(int) { return 0; }'
printf 'using namespace plumb;\nnamespace {\nint run(long) { return 0; }\n}\n' >tests/sim/b_test.cpp
expect 'kMostUnits: schedules/deep/one.cpp:3, schedules/two.cpp:3' 'Grid: schedules/deep/one.cpp:4, schedules/two.cpp:4' \
  'refuse: schedules/deep/one.cpp:5, schedules/two.cpp:5' 'share: schedules/deep/one.cpp:6, schedules/two.cpp:6' \
  'Key: schedules/deep/one.cpp:7, schedules/two.cpp:7' 'numbers: schedules/deep/one.cpp:8, schedules/two.cpp:8' \
  'by_size: schedules/deep/one.cpp:9, schedules/two.cpp:9' 'Network: sim/hides.cpp:3, models/network.hpp:3' \
  'Network: sim/hides.cpp:3, models/network.hpp:4' 'kDeep: sim/shadowed.cpp:3, sim/shadows.cpp:4 (inside a function)' \
  'kLoose: trainer/a.cpp:1, trainer/b.cpp:1' 'helped: trainer/a.cpp:1, trainer/b.cpp:1' \
  'Loose: trainer/a.cpp:1, trainer/b.cpp:1' 'macro PLUMB_LEFT stays defined: tools/macro.cpp:1' \
  'using namespace std holds for the neighbours: tools/macro.cpp:4' \
  'Progress: sim/progress.hpp:3, tools/progress.hpp:3 (in headers)' 'run: tests/sim/a_test.cpp:3, tests/sim/b_test.cpp:3'
echo "every kind of collision is found"
