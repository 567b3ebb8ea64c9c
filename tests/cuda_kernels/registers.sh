#!/usr/bin/env bash
# Compiles the kernels for sm_80, sm_90 and to PTX 90 without a warning, and holds the registers of every source's
# hungriest kernel against registers.txt. No kernel may spill.
#   registers.sh NVCC ROOT            the test
#   registers.sh NVCC ROOT --update   writes registers.txt anew
set -euo pipefail
nvcc=$1
cd -- "$2"
budget=tests/cuda_kernels/registers.txt
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Name of the source, architecture, most registers, bytes spilled.
measure() {
  local source=$1 arch=$2 name
  name=$(basename "$source" .cu)
  "$nvcc" -std=c++20 --expt-relaxed-constexpr -Werror all-warnings -Xptxas -v -arch="$arch" -cubin -I. \
    -o "$folder/$name.$arch" "$source" >"$folder/$name.$arch.log" 2>&1 || { cat "$folder/$name.$arch.log"; exit 1; }
  awk -v name="$name" -v arch="$arch" '
    match($0, /Used [0-9]+ registers/) { used = substr($0, RSTART + 5) + 0; if (used > most) most = used }
    match($0, /[0-9]+ bytes spill stores/) { spilled += substr($0, RSTART) + 0 }
    END { print name, arch, most + 0, spilled + 0 }' "$folder/$name.$arch.log"
}
export -f measure
export nvcc folder

to_ptx() {
  "$nvcc" -std=c++20 --expt-relaxed-constexpr -Werror all-warnings -arch=compute_90 -ptx -I. -o "$folder/ptx" "$1"
}

{
  for source in trainer/cuda/kernels/*.cu; do
    for arch in sm_80 sm_90; do printf '%s %s\n' "$source" "$arch"; done
  done
} | xargs -P 2 -L 1 bash -c 'measure "$1" "$2"' _ | sort >"$folder/measured"
for source in trainer/cuda/kernels/{norm,attention_forward}.cu; do to_ptx "$source"; done

if [ "${3:-}" = --update ]; then
  awk '{ print $1, $2, $3 }' "$folder/measured" >"$budget"
  exit
fi
awk '
  NR == FNR { budget[$1 " " $2] = $3; next }
  $4 > 0 { print $1, $2 ": spills " $4 " bytes"; bad = 1 }
  !(($1 " " $2) in budget) { print $1, $2 ": not in registers.txt"; bad = 1; next }
  $3 > budget[$1 " " $2] { print $1, $2 ": " $3 " registers, expected at most " budget[$1 " " $2]; bad = 1 }
  END { exit bad }' "$budget" "$folder/measured"
echo "$(wc -l <"$folder/measured") measurements keep to the budget"
