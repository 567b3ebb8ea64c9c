#!/usr/bin/env bash
# Makes what a release consists of, for x86-64 Linux with glibc 2.36 or later (Debian 12, Ubuntu 24.04):
#   tools/release.sh OUT
# OUT gets plumbline-VERSION-linux-x86_64.tar.xz (the whole program; its trainer without CUDA and MPI),
# plumbline-simulator-VERSION-linux-x86_64.tar.xz (without the trainer), the Python wheel, explorer.html, and SHA256SUMS.
# Both programs bring all libraries but those of glibc. tools/release_check.sh tries them in bare systems.
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
[ $# = 1 ] || { sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
version=$(sed -nE 's/^project\(plumbline VERSION ([0-9.]+).*/\1/p' "$root/CMakeLists.txt")
platform=linux-$(uname -m)

say() { printf 'release: %s\n' "$*" >&2; }

# Prints the shared libraries that a program needs, but for those of glibc: name and path.
libraries_of() {
  ldd "$1" | awk '$2 == "=>" { print $1, $3 }' | grep -vE '^(libc|libm|libpthread|libdl|librt|ld-linux.*)\.so'
}

# Copies the libraries beside the program, and the licence of each.
bring_libraries() { # PROGRAM FOLDER
  local name path package
  mkdir -p "$2/lib" "$2/share/doc/plumbline/licences"
  libraries_of "$1" | while read -r name path; do
    install -m 644 "$(readlink -f "$path")" "$2/lib/$name"
    package=$(dpkg-query -S "*$(readlink -f "$path" | sed 's#^/usr##')" | head -n 1 | cut -d: -f1) # packages name /lib and /usr/lib
    cp "/usr/share/doc/$package/copyright" "$2/share/doc/plumbline/licences/$package"
  done
}

# tarball NAME TRAINER: builds, installs, packs.
tarball() {
  local name=$1-$version-$platform build=$root/build/$1-release folder program=plumbline
  [ "$2" = ON ] || program=plumbline-simulator
  folder=$(mktemp -d)/$name
  say "building $name"
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=20 \
    -DPLUMB_TRAINER="$2" -DPLUMB_CUDA=OFF -DPLUMB_MPI=OFF -DPLUMB_NATIVE=OFF -DPLUMB_TESTS=OFF -DPLUMB_BENCH=OFF \
    -DPLUMB_PYTHON=OFF -DPLUMB_PNG=ON "-DCMAKE_INSTALL_RPATH=\$ORIGIN/../lib" -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON >/dev/null
  cmake --build "$build" --target $program >"$build/build.log" 2>&1 || { tail -n 30 "$build/build.log" >&2; exit 1; }
  bring_libraries "$build/tools/$program" "$folder"
  cmake --install "$build" --prefix "$folder" --strip >/dev/null
  strip "$folder/bin/plumbline"
  rm -rf "$folder/include" "$folder"/lib/cmake "$folder"/lib/*.a "$folder"/lib/*/cmake "$folder"/lib/*/*.a
  find "$folder" -type d -empty -delete
  install -m 644 "$root/LICENSE" "$root/README.md" "$root/CHANGELOG.md" "$folder/share/doc/plumbline/"
  tar -C "${folder%/*}" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git -C "$root" log -1 --format=%ct)" \
    -cJf "$out/$name.tar.xz" "$name"
  rm -rf "${folder%/*}"
}

wheel() {
  say "building the wheel"
  PLUMBLINE_BUNDLE=1 /usr/bin/python3 -m pip wheel --quiet --no-build-isolation --no-deps --wheel-dir "$out" "$root"
}

say "making the explorer"
"$root/plumbline" web >/dev/null
cp "$root/build/web/tools/web/explorer.html" "$out/"
tarball plumbline-simulator OFF
tarball plumbline ON
wheel
(cd "$out" && sha256sum explorer.html ./*.tar.xz ./*.whl >SHA256SUMS)
ls -l "$out"
