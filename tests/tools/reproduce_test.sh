#!/usr/bin/env bash
# Every published number still comes out as results/claims.json says, and results/README.md shows what comes out.
#   reproduce_test.sh PROGRAM SOURCE_DIRECTORY
set -euo pipefail

readonly program=$1 source=$2
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp "$source/results/claims.json" "$source/results/README.md" "$copy"
"$program" reproduce --claims "$copy/claims.json"
diff "$source/results/README.md" "$copy/README.md" || {
  echo "results/README.md is old; ./plumbline reproduce refreshes it"
  exit 1
}
