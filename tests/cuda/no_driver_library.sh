#!/usr/bin/env bash
# The program starts on machines without a GPU: it does not ask the loader for the driver's library.
#   tests/cuda/no_driver_library.sh PROGRAM
set -euo pipefail
if ! command -v readelf >/dev/null; then
  echo "readelf is not installed: not checked"
  exit 77
fi
needed=$(readelf -d "$1" | grep NEEDED)
if grep -q 'libcuda\.so' <<<"$needed"; then
  echo "$1 needs the driver's library:"
  echo "$needed"
  exit 1
fi
