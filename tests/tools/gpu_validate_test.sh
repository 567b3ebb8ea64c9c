#!/usr/bin/env bash
# The whole of tools/gpu/validate.sh on the CPU back end: every part is entered and passes, and at most 8 files come back.
#   tests/tools/gpu_validate_test.sh SOURCES PROGRAM
set -euo pipefail
sources=$1 program=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$sources/tools/gpu/validate.sh" --dry-run --program "$program" --out "$scratch/out" || { cat "$scratch/out/log.txt" && exit 1; }
parts=$(grep -c ' ok$' "$scratch/out/summary.txt")
files=$(find "$scratch/out" -type f | wc -l)
echo "$parts parts, $files files"
[[ $parts -ge 9 && $files -le 8 ]]
grep -q '"format": "plumbline-ranking"' "$scratch/out/fidelity.json"
tar -tzf "$scratch/out/timelines.tar.gz" >"$scratch/timelines" # whole: a pipe that closes early fails tar
grep -q 'zb-h1.*measured.json' "$scratch/timelines"
if "$sources/tools/gpu/validate.sh" --nothing 2>"$scratch/error"; then exit 1; fi
grep -q "unknown argument '--nothing'" "$scratch/error"
