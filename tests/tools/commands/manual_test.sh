#!/usr/bin/env bash
# The manual page is read by the readers that people have.  manual_test.sh PLUMBLINE
# Exit status 77: skipped where there is neither mandoc nor man, with the reason on standard output.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
page=$scratch/plumbline.1
"$1" manual >"$page"
"$1" help | sed -n 's/^  \([a-z]*\) .*/\1/p' >"$scratch/commands"
read_by=

shows() { # READER: its text of the page is on standard input
  local text
  text=$(sed 's/.\x08//g') # bold and underlined letters are struck twice
  while read -r command; do
    grep -q "plumbline $command" <<<"$text" || { echo "$1: does not show the command $command"; exit 1; }
  done <"$scratch/commands"
  for words in --memory-limit 'EXIT STATUS' NO_COLOR; do
    grep -qe "$words" <<<"$text" || { echo "$1: does not show $words"; exit 1; }
  done
}

if command -v mandoc >/dev/null; then
  mandoc -T lint -W warning "$page" | grep -v 'missing date' >"$scratch/lint" || true # the page is that of a version, not of a day
  [ ! -s "$scratch/lint" ] || { cat "$scratch/lint"; exit 1; }
  mandoc -T utf8 "$page" | shows mandoc
  read_by+=' mandoc'
fi
if man --version >/dev/null 2>&1; then # minimal systems have a stand-in that says that pages are not there
  MANWIDTH=100 man -l --warnings=w "$page" 2>"$scratch/warnings" | shows man
  read_by+=' man'
  [ ! -s "$scratch/warnings" ] || { cat "$scratch/warnings"; exit 1; }
fi
[ -n "$read_by" ] || { echo "skipped: neither mandoc nor man found"; exit 77; }
echo "$(wc -l <"$scratch/commands") commands, read by$read_by"
