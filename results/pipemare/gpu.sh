#!/usr/bin/env bash
# The training part at the scale of the paper, for a machine with a GPU:
#   results/pipemare/gpu.sh CIFAR PAIRS [options of reproduce pipemare]
# CIFAR: folder with CIFAR-10's binary files; PAIRS: a file of tab-separated sentence pairs. Writes results/pipemare/gpu;
# what is there already is not repeated, so it may be stopped and started again.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
cifar=$(realpath -- "$1") pairs=$(realpath -- "$2")
shift 2
mkdir -p "$here/gpu"
sed -e "s|--data CIFAR|--data $cifar|" -e "s|--data PAIRS|--data $pairs|" "$here/study_gpu.json" > "$here/gpu/study.json"
"$here/../../plumbline" reproduce pipemare --study "$here/gpu/study.json" -o "$here/gpu" "$@"
