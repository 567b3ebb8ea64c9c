#!/usr/bin/env bash
# The training part at the scale of the paper, for a machine with a GPU:
#   results/pipemare/gpu.sh CIFAR PAIRS [PROGRAM] [options of reproduce pipemare]     (PROGRAM: a built plumbline-studies)
# CIFAR: folder with CIFAR-10's binary files; PAIRS: a file of tab-separated sentence pairs. Writes results/pipemare/gpu;
# what is there already is not repeated, so it may be stopped and started again.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
cifar=$(realpath -- "$1") pairs=$(realpath -- "$2") program=${3:-$here/../../plumbline}
shift $(($# < 3 ? $# : 3))
mkdir -p "$here/gpu"
sed -e "s|--data CIFAR|--data $cifar|" -e "s|--data PAIRS|--data $pairs|" "$here/study_gpu.json" > "$here/gpu/study.json"
"$program" reproduce pipemare --study "$here/gpu/study.json" -o "$here/gpu" --html "$here/gpu/pipemare.html" "$@"
