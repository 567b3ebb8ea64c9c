#!/usr/bin/env bash
# Tries the tarballs and the wheel of a release in a bare system that has nothing of ours (needs root and debootstrap):
#   tools/release_check.sh FOLDER SUITE...     e.g. release bookworm trixie
# FOLDER is what tools/release.sh made. Prints what ran, and the seconds to the first answer.
set -euo pipefail

[ $# -ge 2 ] || { sed -n '2,4s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
folder=$(cd "$1" && pwd)
shift

try() { # TREE WORDS...
  local tree=$1
  shift
  echo "  \$ $*"
  chroot "$tree" /bin/sh -c "cd /tmp && $*" 2>&1 | sed -n '1,3s/^/    /p'
  [ "${PIPESTATUS[0]}" = 0 ] || { echo "  failed"; exit 1; }
}

check_suite() {
  local suite=$1 tarball name
  tree=$(mktemp -d)
  echo "== $suite"
  debootstrap --variant=minbase --include=xz-utils,python3,python3-numpy,python3-pip "$suite" "$tree" >"$tree.log" 2>&1 || { tail -n 5 "$tree.log"; exit 1; }
  mount -t proc proc "$tree/proc" # programs find their libraries beside them by it
  trap 'umount "$tree/proc" 2>/dev/null || true' EXIT
  cp "$folder"/*.tar.xz "$folder"/*.whl "$tree/tmp/"
  for tarball in "$folder"/*.tar.xz; do
    name=$(basename "$tarball" .tar.xz)
    local begun
    begun=$(date +%s.%N)
    try "$tree" "tar -xf $name.tar.xz && $name/bin/plumbline simulate 1f1b -p 4 -m 8 --summary"
    echo "  first answer after $(date +%s.%N | awk -v begun="$begun" '{ printf "%.1f", $1 - begun }') s, unpacking included"
    try "$tree" "$name/bin/plumbline plan --network gpt2-small --cluster a100-1x2 --batch 4 --schedule 1f1b"
    try "$tree" "$name/bin/plumbline simulate zb-v -p 4 -m 8 --html zb.html --png zb.png --summary >/dev/null && grep -c . zb.html && head -c 4 zb.png | tail -c 3"
    try "$tree" "$name/bin/plumbline explore && grep -c . explorer.html"
    try "$tree" "bash -c 'source $name/share/bash-completion/completions/plumbline && complete -p plumbline'"
    try "$tree" "head -n 1 $name/share/man/man1/plumbline.1"
  done
  try "$tree" "plumbline-$(basename "$folder"/plumbline-[0-9]*.tar.xz .tar.xz | cut -d- -f2-)/bin/plumbline train 1f1b -p 2 -m 4 --network gpt-tiny --updates 2"
  # A wheel is for the Python that it was built with.
  if [ "$(chroot "$tree" python3 -c 'import sys; print("cp%d%d" % sys.version_info[:2])')" = "$(basename "$folder"/*.whl | cut -d- -f3)" ]; then
    try "$tree" "python3 -m pip install --quiet --root-user-action=ignore --break-system-packages --no-index --no-deps *.whl"
    try "$tree" "python3 -c 'import plumbline; print(plumbline.simulate(\"1f1b\", devices=4, microbatches=8))'"
  else
    echo "  $(basename "$folder"/*.whl) is not for the Python of $suite"
  fi
  umount "$tree/proc"
  rm -rf "$tree" "$tree.log"
}

for suite in "$@"; do check_suite "$suite"; done
