#!/usr/bin/env bash
# Checks what no compiler checks: include direction, homes of the dependencies, sizes, names (style guide, rules 3, 9, 10).
# Prints every violation; fails when there is one.
#   tests/architecture/check.sh [ROOT]
set -euo pipefail
cd -- "${1:-$(dirname -- "$0")/../..}"

findings=$(mktemp)
trap 'rm -f "$findings"' EXIT
finding() { printf '%s\n' "$*" >>"$findings"; }

readonly order=(models schedules sim trainer tools)
readonly most_header_lines=300
readonly most_source_lines=800
readonly most_function_lines=60
readonly most_parameters=5

mapfile -t headers < <(find "${order[@]}" tests \( -name '*.hpp' -o -name '*.cuh' \) | sort)
mapfile -t sources < <(find "${order[@]}" tests \( -name '*.cpp' -o -name '*.cu' \) | sort)

# A folder includes itself and folders before it, never one after it.
check_direction() {
  local i folder later
  for i in "${!order[@]}"; do
    folder=${order[i]}
    for later in "${order[@]:i+1}" tests; do
      while IFS= read -r line; do finding "include direction: $line"; done \
        < <(grep -rnE --include='*.hpp' --include='*.cpp' --include='*.cu' --include='*.cuh' "#include \"$later/" "$folder" || true)
    done
  done
}

# dependency, pattern of its include, files that may use it
check_home() {
  local name=$1 pattern=$2 home=$3 line
  while IFS= read -r line; do
    [[ ${line%%:*} =~ $home ]] || finding "home of $name: $line"
  done < <(grep -nE "#include <($pattern)" "${headers[@]}" "${sources[@]}" || true)
}

check_homes() {
  check_home "Boost.Graph" 'boost/graph/' '^(models|sim|tests)/.*\.cpp$'
  check_home "Boost.Program_options" 'boost/program_options' '^tools/.*\.cpp$'
  check_home "oneTBB" '(oneapi/)?tbb/' '^(sim|tools)/.*\.cpp$'
  check_home "Eigen" 'Eigen/' '^(sim/contention_fit|sim/stability|trainer|tools/measured_steps|tests)/.*\.cpp$|^trainer/.*\.hpp$'
  check_home "SQLite" 'sqlite3\.h' '^(sim|tests/sim)/traces/.*\.cpp$'
  check_home "yaml-cpp and toml++" '(yaml-cpp|toml\+\+)/' '^models/launches/.*\.cpp$'
  check_home "zlib" 'zlib\.h' '^(sim/traces|(tests/)?tools/reports)/.*\.cpp$'
  check_home "nlohmann/json" 'nlohmann/' '\.cpp$'
  check_home "pybind11" 'pybind11/' '^tools/python/'
  check_home "doctest" 'doctest/' '^tests/'
  check_home "Google Benchmark" 'benchmark/' '^tools/bench/'
}

check_lengths() {
  local most=$1 file lines
  shift
  for file in "$@"; do
    lines=$(wc -l <"$file")
    [ "$lines" -le "$most" ] || finding "$file: $lines lines, expected at most $most"
  done
}

check_names() {
  local file stem
  for file in "${headers[@]}" "${sources[@]}"; do
    stem=$(basename "${file%.*}")
    [[ $stem =~ ^[a-z0-9_]+$ ]] || finding "$file: expected a name in snake_case"
    [[ $stem =~ ^(utils?|helpers?|common|misc)$ ]] && finding "$file: expected a name that says what is inside"
  done
  while IFS= read -r line; do finding "TODO without an issue number: $line"; done \
    < <(grep -nE '\b(TODO|FIXME|XXX)\b' "${headers[@]}" "${sources[@]}" | grep -vE '(TODO|FIXME|XXX)\(#[0-9]+\)' || true)
  while IFS= read -r file; do finding "$file: expected #pragma once"; done < <(grep -L '#pragma once' "${headers[@]}")
}

# The header of each library for installed users holds nothing but faces of this library, and what users write (the
# examples, the consumer of the package) comes in only there.
check_doorways() {
  local name folders file line
  while read -r name folders; do
    file=include/plumbline/$name.hpp
    [ -d "${folders%% *}" ] || continue # a library of a room comes with it
    [ -f "$file" ] || { finding "$file: expected a header for users of plumb::$name" && continue; }
    while IFS= read -r line; do
      case " $folders " in
        *" ${line%%/*} "* | *" ${line%/*} "*) [ -f "$line" ] || finding "$file: includes $line, which is not there" ;;
        *) finding "$file: includes $line, expected headers of $folders" ;;
      esac
    done < <(sed -n 's/^ *# *include *["<]\([^">]*\)[">].*/\1/p' "$file")
  done <<<"models models
schedules schedules
sim sim
contention_fit sim/contention_fit
plans sim/planners sim/plan_search sim/order_search
trainer trainer
reports tools/reports tools/tables tools/terminal"
  while IFS= read -r line; do finding "not by include/plumbline: $line"; done \
    < <(grep -rnE --include='*.cpp' '#include ["<](models|schedules|sim|trainer|tools)/' tests/package tools/examples 2>/dev/null || true)
}

# Lengths and parameters of functions; test cases are lists of facts and may be longer.
check_functions() {
  if ! command -v ctags >/dev/null || ! ctags --version | grep -q Universal; then
    finding "lengths of functions need universal-ctags; install with: apt-get install universal-ctags"
    return
  fi
  local library
  library=$(printf '%s\n' "${headers[@]}" "${sources[@]}" | grep -v '^tests/')
  ctags -f - --languages=C++ --langmap=C++:+.cu.cuh --kinds-C++=f --fields=+neS --excmd=number -L - <<<"$library" |
    awk -F '\t' -v most="$most_function_lines" -v parameters="$most_parameters" '
      {
        line = end = 0; signature = ""
        for (i = 4; i <= NF; ++i) {
          if ($i ~ /^line:/) line = substr($i, 6)
          if ($i ~ /^end:/) end = substr($i, 5)
          if ($i ~ /^signature:/) signature = substr($i, 11)
        }
        if (end && end - line + 1 > most) printf "%s:%d: %s has %d lines, expected at most %d\n", $2, line, $1, end - line + 1, most
        depth = 0; count = signature ~ /^\( *(void)? *\)/ ? 0 : 1
        for (i = 1; i <= length(signature); ++i) {
          c = substr(signature, i, 1)
          if (c ~ /[(<{[]/) ++depth
          if (c ~ /[)>}\]]/) --depth
          if (c == "," && depth == 1) ++count
        }
        if (count > parameters) printf "%s:%d: %s has %d parameters, expected at most %d\n", $2, line, $1, count, parameters
      }' >>"$findings"
}

check_direction
check_homes
check_lengths "$most_header_lines" "${headers[@]}"
check_lengths "$most_source_lines" "${sources[@]}"
check_names
check_doorways
check_functions

cat "$findings"
if [ -s "$findings" ]; then
  echo "$(wc -l <"$findings") findings"
  exit 1
fi
echo "${#headers[@]} headers and ${#sources[@]} sources keep to the rules"
