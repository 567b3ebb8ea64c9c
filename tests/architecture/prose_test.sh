#!/usr/bin/env bash
# prose.py itself: it counts what it says, and a count that rises is an error.
set -euo pipefail
here=$(cd -- "$(dirname -- "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cd "$tree"
mkdir -p tests/architecture docs tools sim
cp "$here/prose.py" tests/architecture
git init -q .

# expect FOLDER LINE...: the check finds these lines in a folder and no others.
expect() {
  local folder=$1 output
  shift
  git add -A
  output=$(tests/architecture/prose.py list "$folder")
  diff <(printf '%s\n' "$@") <(printf '%s\n' "$output") || { echo "expected < and got >" && exit 1; }
}

cat >docs/fine.md <<'END'
# What it is not

What is a bubble? [A page](beside.md) of ![ones](told.png) `as many` words.

```console
$ a command that is told so many things beside others that its line is much longer than one hundred and sixty columns, which is fine in a block of code, since it is code
```

| What | is short in a table, even where its line is much longer than one hundred and sixty columns, | since no table can be wrapped, and its cells count apart |
|---|---|---|
END
expect docs ""

cat >docs/faults.md <<'END'
What follows is told. It stands
on a page.

* One a a a a a a a a a a a a a a a a a a a a a a a a a.
A line that is wider than it may be: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.
| short | beside |
END
expect docs \
  'docs/faults.md:1: words: "told": reports, prints, says' \
  'docs/faults.md:1: words: begins with "What follows is": a noun' \
  'docs/faults.md:1: words: "stands on": based on' \
  'docs/faults.md:4: sentences: 26 words: "* One a a a a a a a a a a a a a a a a a a a a a a a a a...."' \
  'docs/faults.md:6: words: "beside": next to, in addition to' \
  'docs/faults.md:5: lines: 162 columns'

printf 'say("of the search trees of each "\n    "repetend");\nsay("beside");  // beside the point\n' >tools/help.cpp
printf 'say("of the search trees beside it");\n' >sim/not_read.cpp
expect tools 'tools/help.cpp:1: words: begins with "of the search": a noun'
expect sim ""

tests/architecture/prose.py write
tests/architecture/prose.py >said
[ "$(cat said)" = "5 words, 1 sentences, 1 lines" ] || { cat said && exit 1; }
echo "It is beside it." >>docs/fine.md
if tests/architecture/prose.py >said; then echo "a count that rose was accepted" && exit 1; fi
grep -q '^docs: 5 findings of words, expected at most 4;' said || { cat said && exit 1; }
rm docs/*.md
tests/architecture/prose.py >said || { echo "a count that fell was refused" && exit 1; }
