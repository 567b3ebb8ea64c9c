#!/usr/bin/env bash
# Puts one mistake after the other into the kernels and says which of them the kernels' tests notice:
#   tests/cuda_kernels/mutants.sh [-j JOBS] [BUILD [PART-OF-A-NAME]]      (default: build/release, all of tests/cuda_kernels/mutants.txt)
# BUILD must have built cuda_kernels_test. Sources stay as they are: a mutant is compiled from a copy. Exit status 1 when a
# mistake that could be noticed was not, or when a row no longer applies.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
jobs=2
[[ ${1:-} != -j ]] || { jobs=$2 && shift 2; }
build=$(cd -- "${1:-$root/build/release}" && pwd)
part=${2:-}
seconds=120 # for a mutant's tests, which take ten; a mutant that takes longer hangs
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

ninja -C "$build" -t commands cuda_kernels_test >"$work/commands"
ninja -C "$build" -t deps >"$work/deps"
tail -n 1 "$work/commands" | sed 's/^: && //; s/ && :$//' >"$work/link"

# The objects of kernels that include a source, or are made of it.
objects_of() {
  awk -v source="$1" '
    /^[^ ].*#deps/ { object = substr($1, 1, length($1) - 1); next }
    object ~ /cuda_on_cpu\.dir.*kernels/ && index($1, source) && substr($1, length($1) - length(source) + 1) == source { print object }
  ' "$work/deps" | sort -u
}

# try NUMBER NAME SOURCE EXPRESSION: prints "caught", "SURVIVED" or what went wrong.
try() {
  local folder=$work/$1 source=trainer/cuda/kernels/$3 objects=() object command
  mkdir -p "$folder/$(dirname -- "$source")"
  perl -0pe "$4" "$root/$source" >"$folder/$source"
  cmp -s "$root/$source" "$folder/$source" && echo "DOES NOT APPLY" && return
  for object in $(objects_of "$source"); do
    command=$(grep -F -- " -o $object " "$work/commands" | tail -n 1)
    command=${command//-I$root /-I$folder -I$root }
    command=${command// -o $object / -o $folder/$(basename "$object") }
    command=${command//-MF $object.d/-MF $folder/deps}
    [[ $object != *"$source.o" ]] || command=${command//-c $root\/$source/-c $folder/$source}
    (cd "$build" && bash -c "$command") >"$folder/log" 2>&1 || { echo "DOES NOT COMPILE" && return; }
    objects+=("$folder/$(basename "$object")")
  done
  ((${#objects[@]} > 0)) || { echo "NOBODY INCLUDES IT" && return; }
  command=$(sed "s|-o tests/cuda_kernels_test|-o $folder/test ${objects[*]}|" "$work/link")
  (cd "$build" && bash -c "$command") >"$folder/log" 2>&1 || { echo "DOES NOT LINK" && return; }
  # In a shell of its own, which says to the log, too, by which signal the test died.
  if (timeout "$seconds" "$folder/test" --abort-after=1 || exit 1) >"$folder/log" 2>&1; then echo SURVIVED; else echo caught; fi
  rm -f "$folder"/*.o "$folder/test"
}

"$build/tests/cuda_kernels_test" >"$work/log" 2>&1 || { echo "mutants.sh: the tests fail without a mistake" >&2 && exit 1; }
number=0
while IFS='|' read -r name source rest; do
  [[ $name == \#* || $name != *"$part"* ]] && continue
  expression=${rest%|*} expected=${rest##*|}
  number=$((number + 1))
  read -r source <<<"$source"
  printf '%s\t%s\t%s\n' "$name" "$source" "${expected# }" >"$work/row.$number"
  while (($(jobs -rp | wc -l) >= jobs)); do wait -n; done
  try "$number" "$name" "$source" "$expression" >"$work/result.$number" 2>&1 &
done <"$root/tests/cuda_kernels/mutants.txt"
wait

printf '| mistake | source | result |\n|---|---|---|\n'
caught=0 equivalent=0 bad=0
for ((i = 1; i <= number; ++i)); do
  IFS=$'\t' read -r name source expected <"$work/row.$i"
  result=$(<"$work/result.$i")
  if [[ $result == caught ]]; then
    caught=$((caught + 1))
  elif [[ $result == SURVIVED && $expected != caught ]]; then
    equivalent=$((equivalent + 1)) result="not to be noticed: $expected"
  else
    bad=$((bad + 1))
  fi
  printf '| %s | `%s` | %s |\n' "${name% }" "$source" "$result"
done
echo
echo "$caught of $((number - equivalent)) mistakes that change what a kernel does are caught; $equivalent change nothing but speed"
((bad == 0))
