#!/usr/bin/env bash
# Where cuDNN is not in the folder that PLUMB_CUDNN names, one line says so, and what was expected.
#   tests/dnn/missing_library.sh DNN_TEST
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
status=0
said=$(PLUMB_CUDNN=$folder "$1") || status=$?
expected="skipped: cuDNN: $folder/libcudnn.so.9: cannot open shared object file: No such file or directory; expected its folder in PLUMB_CUDNN or LD_LIBRARY_PATH"
[[ $status == 77 && $said == "$expected" ]] || { echo "exit status $status: $said" && exit 1; }
