#!/usr/bin/env bash
# Every claim is still reached, or not, as results/claims.json says; results/README.md and results/claims show it; and the
# first numbers of the headline are those of the rows on the pages, and those of the project's README.
#   reproduce_test.sh PROGRAM SOURCE_DIRECTORY
set -euo pipefail

readonly program=$1 source=$2
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp "$source/results/claims.json" "$source/results/README.md" "$copy"
"$program" reproduce --claims "$copy/claims.json"
if ! diff "$source/results/README.md" "$copy/README.md" || ! diff -r "$source/results/claims" "$copy/claims"; then
  echo "results/README.md or results/claims is old; ./plumbline reproduce refreshes them"
  exit 1
fi

printed() { cat "$copy"/claims/*.md | grep -cE '^\| .* \| printed \| .* \| (exact|modelled) \| '"$1"' \|'; }
counted="$(printed reached) of $(printed '[a-z* ]*')"
if ! grep -q "^$counted printed numbers" "$copy/README.md"; then
  echo "results/claims has $counted printed numbers that are reached; the headline of results/README.md says something else"
  exit 1
fi
if ! grep -q "| $counted equal to the last digit |" "$source/README.md"; then
  echo "results/claims has $counted printed numbers that are reached; README.md says something else"
  exit 1
fi
