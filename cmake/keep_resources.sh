#!/usr/bin/env bash
# keep_resources.sh COMPILER ARGUMENTS...: compiles, and keeps what ptxas says of registers and spills (-Xptxas -v)
# beside the object, as OBJECT.resources. Everything else that the compiler says is shown.
set -uo pipefail
object=
for ((i = 1; i < $#; ++i)); do
  [ "${!i}" != -o ] || { next=$((i + 1)) && object=${!next}; }
done
said=$("$@" 2>&1)
status=$?
from_ptxas='^(ptxas info|    [0-9]+ bytes stack frame)'
if [ -n "$object" ]; then grep -E "$from_ptxas" <<<"$said" >"$object.resources"; fi
grep -vE "$from_ptxas" <<<"$said" | grep . >&2
exit $status
