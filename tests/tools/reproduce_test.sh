#!/usr/bin/env bash
# Every published number is still reproduced as results/claims.json says, and results/README.md and results/claims show it.
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
