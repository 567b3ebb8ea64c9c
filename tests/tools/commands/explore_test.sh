#!/usr/bin/env bash
# `plumbline explore` beside an explorer and without one.  explore_test.sh PLUMBLINE
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "$*" && exit 1; }

mkdir -p "$scratch/bin" "$scratch/work"
cp "$1" "$scratch/bin/plumbline"
cd "$scratch/work"
status=0
"$scratch/bin/plumbline" explore 2>"$scratch/err" || status=$?
[ $status = 2 ] || fail "without the page: expected exit status 2, found $status"
grep -q "^plumbline: error: explore: .*\./plumbline web makes it" "$scratch/err" || fail "without the page: $(cat "$scratch/err")"
[ -z "$(ls)" ] || fail "without the page: left $(ls)"

mkdir -p "$scratch/share/plumbline"
printf '<!doctype html><title>the explorer</title>\n' >"$scratch/share/plumbline/explorer.html"
[ "$("$scratch/bin/plumbline" explore)" = "explorer.html: open it in a browser" ] || fail "with the page: says something else"
cmp explorer.html "$scratch/share/plumbline/explorer.html"
"$scratch/bin/plumbline" explore other.html >/dev/null
cmp other.html explorer.html
"$scratch/bin/plumbline" explore - | cmp - explorer.html
echo "both exits"
