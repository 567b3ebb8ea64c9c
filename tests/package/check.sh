#!/usr/bin/env bash
# Installs a build into a scratch prefix, then builds and runs a project that finds Plumbline there.
#   tests/package/check.sh BUILD
set -euo pipefail
here=$(cd -- "$(dirname -- "$0")" && pwd)
build=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cmake --install "$build" --prefix "$scratch/prefix" >/dev/null
[ "$(ls "$scratch/prefix/bin")" = plumbline ] || { echo "expected one program, found:" && ls "$scratch/prefix/bin" && exit 1; }
cmake -S "$here" -B "$scratch/build" -G Ninja -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_BUILD_TYPE=Debug \
  -DREADME="$here/../../README.md" >/dev/null
cmake --build "$scratch/build"
"$scratch/build/consumer" "$scratch/consumer.svg" | grep -F 'd0 | F'
"$scratch/build/printed" >"$scratch/printed" # what the README prints: two shares of idle time
[ "$(awk '$1 > 0 && $1 < 1' "$scratch/printed" | wc -l)" = 2 ]
"$scratch/prefix/bin/plumbline" simulate 1f1b -p 4 -m 8 --cost F=1,B=2 --summary --json - >"$scratch/run.json"
grep -q '"makespan_ns": *33000000' "$scratch/run.json"
"$scratch/prefix/bin/plumbline" simulate 1f1b -p 4 -m 8 --cost F=1,B=2 --svg "$scratch/program.svg" >/dev/null
"$scratch/prefix/bin/plumbline" ask --schema >"$scratch/schema.json" # in a file: grep -q would end a pipe before all of it is written
grep -q '"compare"' "$scratch/schema.json"
cmp "$scratch/consumer.svg" "$scratch/program.svg"
