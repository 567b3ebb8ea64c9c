#!/usr/bin/env bash
# `pip install --no-build-isolation` of the source tree into a fresh environment, without a network; then a simulation there.
#   tests/tools/python/pip_test.sh SOURCE
set -euo pipefail
source=$1
python=/usr/bin/python3 # Debian's, which has setuptools and pybind11
"$python" -c 'import venv, setuptools, wheel' 2>/dev/null || { echo "skipped: python3-venv, python3-setuptools or python3-wheel is missing" && exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$python" -m venv --system-site-packages "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --no-build-isolation --no-index --no-deps "$source"
cd "$scratch" # what is imported is what was installed
installed=$("$scratch/venv/bin/python" -c 'import plumbline; print(plumbline.__file__)')
case $installed in "$scratch"/venv/*) ;; *) echo "expected the module of the environment, found $installed" && exit 1 ;; esac
"$scratch/venv/bin/python" - <<'PYTHON'
import os
import plumbline

run = plumbline.simulate("1f1b", devices=4, microbatches=8, cost="F=1,B=2")
assert run.makespan_ns == (8 + 4 - 1) * 3_000_000, run.makespan_ns  # (m + p - 1)(F + B)
assert {"py.typed", "_core.pyi", "questions.pyi"} <= set(os.listdir(os.path.dirname(plumbline.__file__)))
print("installed and imported:", run)
PYTHON
