#!/usr/bin/env bash
# Every claim is still reached, or not, as results/claims.json says; results/README.md and results/claims show it; and the
# first number of the headline is that of the rows on the pages.
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
if ! grep -q "^$(printed reached) of $(printed '[a-z* ]*') printed numbers" "$copy/README.md"; then
  echo "the headline of results/README.md does not count the rows of results/claims"
  exit 1
fi
