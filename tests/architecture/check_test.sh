#!/usr/bin/env bash
# The check itself: a tree with one violation of every rule must give each of these findings.
set -euo pipefail
check=$(cd -- "$(dirname -- "$0")" && pwd)/check.sh
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cd "$tree"
mkdir -p models schedules sim trainer tools tests

printf '#pragma once\n#include "tools/commands/command.hpp"\n' >models/upward.hpp
printf '#pragma once\n#include "tools/commands/command.hpp"\n' >sim/upward.cuh
printf '#pragma once\n#include <nlohmann/json.hpp>\n' >models/heavy.hpp
printf '#include <tbb/parallel_for.h>\n' >models/parallel.cpp
mkdir -p include/plumbline tests/package tools/reports
touch include/plumbline/{models,sim,trainer,reports}.hpp
printf '#include "models/unguarded.hpp"\n#include "sim/gone.hpp"\n' >include/plumbline/sim.hpp
printf '#include <models/unguarded.hpp>\n' >tests/package/consumer.cpp
printf 'int x;\n' >models/unguarded.hpp
{ echo '#pragma once' && seq -f '// %g' 300; } >sim/long.hpp
seq -f '// %g' 801 >sim/long.cpp
printf '// %s: later\n' TODO >sim/CamelCase.cpp
touch sim/utils.cpp
{ echo 'void endless() {' && seq -f '  // %g' 60 && echo '}'; } >trainer/endless.cpp
echo 'void greedy(int a, int b, int c, int d, int e, int f) {}' >trainer/greedy.cpp

status=0
output=$("$check" "$tree") || status=$?
echo "$output"
[ "$status" = 1 ] || { echo "expected status 1, got $status"; exit 1; }

expected=(
  'include direction: models/upward.hpp:2'
  'include direction: sim/upward.cuh:2'
  'home of nlohmann/json: models/heavy.hpp:2'
  'home of oneTBB: models/parallel.cpp:1'
  'models/unguarded.hpp: expected #pragma once'
  'include/plumbline/schedules.hpp: expected a header for users'
  'include/plumbline/sim.hpp: includes models/unguarded.hpp, expected headers of sim'
  'include/plumbline/sim.hpp: includes sim/gone.hpp, which is not there'
  'not by include/plumbline: tests/package/consumer.cpp:1'
  'sim/long.hpp: 301 lines'
  'sim/long.cpp: 801 lines'
  'TODO without an issue number: sim/CamelCase.cpp:1'
  'sim/CamelCase.cpp: expected a name in snake_case'
  'sim/utils.cpp: expected a name that says what is inside'
  'trainer/endless.cpp:1: endless has 62 lines'
  'trainer/greedy.cpp:1: greedy has 6 parameters'
)
for line in "${expected[@]}"; do
  grep -qF -- "$line" <<<"$output" || { echo "not found: $line"; exit 1; }
done
[ "$(wc -l <<<"$output")" = $((${#expected[@]} + 1)) ] || { echo "more findings than violations"; exit 1; }

# Without universal-ctags it fails, too, and says what to install.
mkdir without
for tool in bash cat dirname find grep mktemp printf rm sed sort wc basename; do ln -s "$(command -v "$tool")" without/; done
output=$(PATH=$tree/without "$check" "$tree") && { echo "expected a failure without ctags"; exit 1; }
grep -q 'apt-get install universal-ctags' <<<"$output" || { echo "$output"; exit 1; }
