#!/usr/bin/env bash
# Makes a folder that runs on a machine with a GPU and nothing else of ours, for results/fidelity/scripts/gpu/validate.sh:
#   results/fidelity/scripts/gpu/bundle.sh [FOLDER]        (default: build/gpu), and the same packed, FOLDER.tgz (at most 40 MiB)
# The program, the probe, and the tests of the kernels (gpu_test).
# Release for sm_80, sm_86, sm_89 and sm_90 (newer ones compile its PTX), for processors of any kind; Boost inside, TBB, libstdc++ (which TBB needs, too), zlib, SQLite, yaml-cpp and toml++ beside the program, which
# are looked for there ($ORIGIN). cuBLASLt is the machine's own, found when it is needed. Without MPI: one process.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
root=$(cd -- "$here/../../../.." && pwd)
bundle=${1:-$root/build/gpu}
build=${PLUMB_BUNDLE_BUILD:-$root/build/gpu-release}
architectures=${PLUMB_BUNDLE_ARCHITECTURES:-80-real;86-real;89-real;90} # one alone is built in a third of the time
most_kib=$((40 * 1024)) # packed: of the 64 MiB that travel with the working tree, the rest is the sources'

if [[ -z ${PLUMB_BUNDLE_BUILD:-} ]]; then
  # shellcheck disable=SC2016
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=8 \
    -DPLUMB_CUDA=ON -DPLUMB_MPI=OFF -DPLUMB_NATIVE=OFF -DPLUMB_TESTS=ON -DPLUMB_BENCH=OFF "-DCMAKE_CUDA_ARCHITECTURES=$architectures" \
    -DBoost_USE_STATIC_LIBS=ON -DCMAKE_BUILD_RPATH='$ORIGIN' -DCMAKE_EXE_LINKER_FLAGS='-s'
  cmake --build "$build" --target plumbline plumbline-gpu-probe gpu_test
fi

mkdir -p "$bundle"
rm -f "$bundle"/{plumbline,plumbline-gpu-probe,gpu_test,lib*.so.*}
for program in plumbline plumbline-gpu-probe gpu_test; do
  found=$(find "$build" -name "$program" -type f -perm -u+x | head -n 1)
  [[ -n $found ]] || { echo "bundle.sh: $build has no $program" >&2 && exit 1; }
  cp -- "$found" "$bundle/"
done
ldd "$build/tools/plumbline" | awk '/lib(tbb|stdc\+\+|gcc_s|z|sqlite3|yaml-cpp|tomlplusplus)\.so/ { print $3 }' | xargs -r -I{} cp -L -- {} "$bundle/"

# What it needs of the machine: the C library, and nothing that is not everywhere.
inside=$(find "$bundle" -maxdepth 1 -name 'lib*' -printf '%f\n')
foreign=$(readelf -d "$bundle"/* | awk -F'[][]' '/NEEDED/ { print $2 }' | sort -u |
  grep -vE '^(libc|libm|libdl|librt|libpthread|ld-linux-x86-64)\.so' | grep -vxF "${inside:-none}" || true)
glibc=$(readelf -V "$bundle"/* | grep -oE 'GLIBC_[0-9.]+' | sort -Vu | tail -n 1)
tar -C "$(dirname -- "$bundle")" -czf "$bundle.tgz" "$(basename -- "$bundle")"
size_kib=$(du -sk "$bundle.tgz" | cut -f1)
echo "$bundle.tgz: $((size_kib / 1024)) MiB, needs the C library ($glibc or later), and besides: ${foreign:-nothing}"
[[ -z $foreign || -n ${PLUMB_BUNDLE_BUILD:-} ]] || { echo "bundle.sh: expected nothing" >&2 && exit 1; }
((size_kib <= most_kib)) || { echo "bundle.sh: packed more than $((most_kib / 1024)) MiB" >&2 && exit 1; }
env -i "$bundle/plumbline" version
env -i "$bundle/plumbline-gpu-probe" --dry-run >/dev/null
