#!/usr/bin/env bash
# The checks of rooms and links themselves: a tree with one fault of every kind must give each of these findings.
set -euo pipefail
here=$(cd -- "$(dirname -- "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cd "$tree"
mkdir -p models/ground models/network models/crowd schedules sim trainer tools tests/architecture

# expect CHECK LINE...: the check finds these lines and no others.
expect() {
  local check=$1 status=0 output line
  shift
  output=$("$here/$check" "$tree") || status=$?
  [ "$status" = $(($# > 0)) ] || { echo "$output" && echo "$check: expected status $(($# > 0)), got $status" && exit 1; }
  for line in "$@"; do
    grep -qxF -- "$line" <<<"$output" || { echo "$output" && echo "$check: not found: $line" && exit 1; }
  done
  [ "$(wc -l <<<"$output")" = $(($# + 1)) ] || { echo "$output" && echo "$check: more findings than expected" && exit 1; }
}

echo 'models/ground:' >tests/architecture/rooms.txt
echo 'models/network: ground' >>tests/architecture/rooms.txt
touch models/ground/units.hpp
echo '#include "models/ground/units.hpp"' >models/network/network.hpp
printf '# ground\n\n`units.hpp`\n' >models/ground/README.md
echo '`network.hpp`: see [the ground](../ground/README.md#ground) and [elsewhere](https://example.org)' >models/network/README.md
expect rooms.py
expect links.py

echo '#include "models/network/network.hpp"' >models/ground/units.hpp
seq 41 >models/ground/README.md
for number in $(seq 46); do touch "models/crowd/file$number.cpp"; done
mkdir models/quiet && touch models/quiet/quiet.hpp models/quiet/quick_rule.cpp models/quiet/loud_rule.{hpp,cpp}
echo '`quiet.hpp`, `*_rule.cpp`' >models/quiet/README.md
printf '%s\n' 'models/nowhere: gruond' 'models/quiet: network' >>tests/architecture/rooms.txt
echo '`network.hpp`: see [nothing](missing.md) and [no heading](../ground/README.md#roof)' >models/network/README.md
expect rooms.py \
  'models/ground/units.hpp: includes models/network/network.hpp, but models/ground may not include models/network' \
  'files that include each other in a circle: models/ground/units models/network/network' \
  'models/ground/README.md: 41 lines, expected at most 40' \
  'models/ground/README.md: does not name units' \
  'models/quiet/README.md: does not name loud_rule' \
  'models/crowd: 46 sources directly in the folder, expected at most 45' \
  'models/crowd: has no line in tests/architecture/rooms.txt' \
  'models/crowd: has no README.md' \
  'tests/architecture/rooms.txt: models/nowhere holds no sources' \
  'tests/architecture/rooms.txt: models/nowhere may include models/gruond, which has no line' \
  'tests/architecture/rooms.txt: models/quiet may include models/network, but does not'
expect links.py 'models/network/README.md:1: missing.md' 'models/network/README.md:1: ../ground/README.md#roof'
