#!/usr/bin/env bash
# Builds oneTBB for the thread sanitizer, which sees how work goes from thread to thread only in a library that was compiled for it:
#   cmake/onetbb_for_tsan.sh FOLDER
# FOLDER/installed then holds the library. Does nothing when that was done for the installed version of libtbb-dev. The source is the
# distribution's (apt, Debian or Ubuntu; needs dpkg-dev, not root).
set -euo pipefail
mkdir -p -- "${1:?usage: onetbb_for_tsan.sh FOLDER}"
cd -- "$1"

version=$(dpkg-query -W -f '${source:Version}' libtbb-dev)
[ "$(cat version 2>/dev/null)" != "$version" ] || exit 0

# Where this machine gets its packages from, asked for sources; what apt keeps stays in this folder.
rm -rf -- apt source build installed
mkdir -p apt/sources apt/state/lists/partial apt/cache/archives/partial source
for list in /etc/apt/sources.list.d/{debian,ubuntu}.sources; do
  [ ! -e "$list" ] || sed 's/^Types:.*/Types: deb-src/' "$list" >"apt/sources/${list##*/}"
done
[ ! -e /etc/apt/sources.list ] || sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >apt/sources/main.list
apt=(apt-get -q -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$PWD/apt/sources" -o "Dir::State=$PWD/apt/state"
     -o "Dir::Cache=$PWD/apt/cache" -o APT::Sandbox::User=root)
"${apt[@]}" update
(cd source && "${apt[@]}" source "$(dpkg-query -W -f '${source:Package}' libtbb-dev)=$version")

cmake -S source/*/ -B build -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DTBB_SANITIZE=thread -DTBB_TEST=OFF \
  -DTBBMALLOC_BUILD=OFF -DTBB_STRICT=OFF -DTBB_DISABLE_HWLOC_AUTOMATIC_SEARCH=ON -DCMAKE_INSTALL_PREFIX="$PWD/installed" \
  -DCMAKE_INSTALL_LIBDIR=lib
cmake --build build
cmake --install build >/dev/null
echo "$version" >version
