#!/usr/bin/env bash
# Compares the registers of every source's hungriest kernel, as ptxas reported them to the build (cmake/keep_resources.sh),
# against registers.txt. No kernel may spill.
#   registers.sh OBJECTS            the test; OBJECTS is the folder with the kernels' objects
#   registers.sh OBJECTS --update   writes registers.txt anew
set -euo pipefail
objects=$1
budget=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/registers.txt
measured=$(mktemp)
trap 'rm -f "$measured"' EXIT

# For each architecture: name of the source, architecture, most registers, bytes spilled.
measure() {
  awk -v name="$(basename "$1" .cu.o.resources)" '
    match($0, /for .sm_[0-9]+/) { arch = substr($0, RSTART + 5, RLENGTH - 5); most[arch] += 0 }
    match($0, /Used [0-9]+ registers/) { used = substr($0, RSTART + 5) + 0; if (used > most[arch]) most[arch] = used }
    match($0, /[0-9]+ bytes spill stores/) { spilled[arch] += substr($0, RSTART) + 0 }
    END { for (arch in most) print name, arch, most[arch], spilled[arch] + 0 }' "$1"
}
for said in "$objects"/*.cu.o.resources "$objects"/*/*.cu.o.resources; do measure "$said"; done | sort >"$measured"

if [ "${2:-}" = --update ]; then
  awk '{ print $1, $2, $3 }' "$measured" >"$budget"
  exit
fi
awk '
  NR == FNR { budget[$1 " " $2] = $3; next }
  $4 > 0 { print $1, $2 ": spills " $4 " bytes"; bad = 1 }
  !(($1 " " $2) in budget) { print $1, $2 ": not in registers.txt"; bad = 1; next }
  $3 > budget[$1 " " $2] { print $1, $2 ": " $3 " registers, expected at most " budget[$1 " " $2]; bad = 1 }
  { delete budget[$1 " " $2] }
  END { for (missing in budget) { print missing ": in registers.txt, but not built"; bad = 1 } exit bad }' "$budget" "$measured"
echo "$(wc -l <"$measured") measurements keep to the budget"
