#!/usr/bin/env bash
# shellcheck disable=SC2016
# The launcher with stand-ins for cmake, ctest, apt and friends, which write down how they were called.
#   tests/tools/launcher_test.sh LAUNCHER
set -euo pipefail
unset PLUMB_CONFIGURE
launcher=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
root=$scratch/checkout
mkdir -p "$scratch/bin" "$scratch/elsewhere" "$root"/{models,schedules,sim,trainer,tools,include,cmake,tests}
cp "$launcher" "$root/plumbline"
touch "$root/CMakeLists.txt" "$root/CMakePresets.json" "$root/tools/main.cpp" "$root/trainer/train.cpp"
export CALLS=$scratch/calls MISSING='' ROOT=$root

stand_in() {
  printf '#!/usr/bin/env bash\n%s\n' "$2" >"$scratch/bin/$1"
  chmod +x "$scratch/bin/$1"
}
log='echo "$(basename "$0") $*" >>"$CALLS"'
stand_in cmake "$log"'
[ -z "${FAIL:-}" ] || { echo "compiler says no"; exit 1; }
release=$ROOT/build/release
mkdir -p "$release/tools"
program() {
  printf "#!/bin/sh\necho $1 \"\$@\"\n" >"$release/tools/$1"
  # as tools/core/main.cpp does
  [ "$1" != plumbline-core ] || sed -i "2i case \"\$*\" in plan* | *--job*) PLUMB_NEEDS=plumbline-simulator exec \"\$PLUMB_LAUNCHER\" \"\$@\" ;; esac" "$release/tools/$1"
  chmod +x "$release/tools/$1"
}
case "$1" in
  --preset) touch "$release/build.ninja"; printf "%s\n" "$@" | sed -n "s/^-D\(PLUMB_[A-Z]*\)=/\1:BOOL=/p" >"$release/CMakeCache.txt" ;;
  --build) case "${*: -1}" in
    all) for one in plumbline-core plumbline-simulator plumbline; do program $one; done ;;
    plumbline_python) mkdir -p "$release/python/plumbline"; touch "$release/python/plumbline/__init__.py" ;;
    *) program "${*: -1}" ;;
  esac ;;
esac'
stand_in ctest "$log"'
mkdir -p Testing/Temporary
cat >Testing/Temporary/LastTest.log <<LOG
1/3 Testing: models
[doctest] test cases: 12 | 11 passed | 1 failed | 0 skipped
Test Failed.
2/3 Testing: architecture
Test Passed.
3/3 Testing: sim
[doctest] test cases: 30 | 30 passed | 0 failed | 0 skipped
Test Passed.
4/4 Testing: trainer
Segmentation fault
Test Failed.
LOG
exit 8'
stand_in dpkg-query 'case " $MISSING " in *" ${*: -1} "*) exit 1 ;; esac; printf installed'
stand_in apt-get "$log"
stand_in sudo "$log"'; [ "$1" = -v ] || "$@"'
stand_in id 'echo "${AS:-0}"'
for tool in ninja g++ node chromium python3 ctags mandoc zsh; do stand_in "$tool" "$log"; done
export PATH=$scratch/bin:$PATH

fail() {
  echo "FAILED: $*"
  echo "calls:"; cat "$CALLS" 2>/dev/null || true
  echo "standard error:"; cat "$scratch/err"
  exit 1
}

# Runs the launcher from another directory; its calls, output and status are in files and $status.
run() {
  rm -f "$CALLS"
  touch "$CALLS"
  status=0
  (cd "$scratch/elsewhere" && "$root/plumbline" "$@" >"$scratch/out" 2>"$scratch/err") || status=$?
}

check() { # what, expected, actual
  [ "$2" = "$3" ] || fail "$1: expected '$2', got '$3'"
}

configured() { echo "cmake --preset release -DPLUMB_TRAINER=$1 -DPLUMB_TESTS=$2 -DPLUMB_BENCH=$2"; }
built() { echo "cmake --build $root/build/release --parallel $(nproc) --target $1"; }

MISSING='libtbb-dev' run test
grep -q '^apt-get .*install --no-install-recommends libtbb-dev$' "$CALLS" || fail 'tests of a fresh clone install what is missing'
grep -q '^cmake --build' "$CALLS" || fail 'and are built'
rm -r "$root/build"

run simulate 'a b' -p 4
check 'a fresh clone configures and builds only the core program' "$(configured OFF OFF)
$(built plumbline-core)" "$(cat "$CALLS")"
check 'and then runs it' 'plumbline-core simulate a b -p 4' "$(cat "$scratch/out")"
check 'with its status' 0 "$status"
grep -q '^plumbline: building' "$scratch/err" || fail 'set-up talks on standard error'

run version
check 'a second call does no set-up' '' "$(cat "$CALLS")"
check 'and is quiet' '' "$(cat "$scratch/err")"

sleep 0.01
touch "$root/trainer/train.cpp"
run sweep
check 'what only simulates does not care for the trainer' '' "$(cat "$CALLS")"

touch "$root/tools/main.cpp"
run version
check 'a newer source builds again, without configuring' "$(built plumbline-core)" "$(cat "$CALLS")"

rm "$root/tools/main.cpp"
run version
check 'a source that is gone builds again' "$(built plumbline-core)" "$(cat "$CALLS")"

run simulate 'a b' --job c
check 'an option that the core lacks builds the larger program, without configuring' "$(built plumbline-simulator)" "$(cat "$CALLS")"
check 'which gets the same arguments' 'plumbline-simulator simulate a b --job c' "$(cat "$scratch/out")"
run plan 'a b'
check 'so does a command, which is built once' 'plumbline-simulator plan a b' "$(cat "$CALLS" "$scratch/out")"
run simulate
check 'the larger program then answers what the core could' 'plumbline-simulator simulate' "$(cat "$CALLS" "$scratch/out")"
touch "$root/tools/command.cpp"
run simulate
check 'until a source changes' "$(built plumbline-core)" "$(cat "$CALLS")"
run plan
check 'when the larger program is built only for who needs it' "$(built plumbline-simulator)" "$(cat "$CALLS")"

rm -r "$root/build"
run plan
check 'a fresh clone asks the core, and then builds what it names' "$(configured OFF OFF)
$(built plumbline-core)
$(built plumbline-simulator)" "$(cat "$CALLS")"
check 'which runs once' 'plumbline-simulator plan' "$(cat "$scratch/out")"

for command in train profile demo weights reproduce 'help train'; do
  rm -r "$root/build"
  run simulate
  # shellcheck disable=SC2086
  run $command
  check "$command gets the program with the trainer" "$(configured ON OFF)
$(built plumbline)" "$(cat "$CALLS")"
  check 'and then runs it' "plumbline $command" "$(cat "$scratch/out")"
done
run simulate
check 'which then answers everything' 'plumbline simulate' "$(cat "$scratch/out")"
check 'without another build' '' "$(cat "$CALLS")"
run train --help
check 'or another set-up' '' "$(cat "$CALLS")"
sleep 0.01
touch "$root/trainer/train.cpp"
run train
check 'until the trainer changes' "$(built plumbline)" "$(cat "$CALLS")"

run reproduce pipemare --report-only
check 'a study is a script over the Python module, which is built for it' "$(configured ON OFF) -DPLUMB_PYTHON=ON
$(built plumbline_python)
python3 -B $root/results/pipemare/study.py --report-only" "$(cat "$CALLS")"
for study in planners public; do
  run reproduce $study --csv -
  check 'and once for all of them' "python3 -B $root/results/$study/study.py --csv -" "$(cat "$CALLS")"
done
run help reproduce public
check 'and which explains itself' "python3 -B $root/results/public/study.py --help" "$(cat "$CALLS")"
run reproduce ZB-H1
check 'and a claim by the whole one' 'plumbline reproduce ZB-H1' "$(cat "$scratch/out")"

touch -d 2030-01-01 "$root/tools/main.cpp"
run version
check 'a source from the future builds once' "$(built plumbline-core)" "$(cat "$CALLS")"
run version
check 'and not again' '' "$(cat "$CALLS")"

sleep 0.01
touch "$root/tools/main.cpp"
exec 8>"$root/build/lock"
flock 8
for _ in $(seq 500); do grep -qs 'waiting for it' "$scratch/err" && break; sleep 0.02; done & # holds the lock so long
exec 8>&-
run simulate
check 'a call that meets another one that builds says that it waits' 'plumbline: another call is building; waiting for it ...' \
  "$(head -n 1 "$scratch/err")"
check 'and builds after it' "$(built plumbline-core)" "$(cat "$CALLS")"
wait

rm "$root/build/release/build.ninja"
sleep 0.01
touch "$root/tools/main.cpp"
run simulate
check 'a build that had the trainer is not configured without it' "$(configured ON OFF)" "$(grep -- --preset "$CALLS")"
touch "$root/tools/main.cpp"
PLUMB_CONFIGURE='-DPLUMB_WERROR=ON -DPLUMB_NATIVE=OFF' run simulate
check 'what PLUMB_CONFIGURE asks for reaches a build that is configured' \
  "$(configured ON OFF) -DPLUMB_WERROR=ON -DPLUMB_NATIVE=OFF" "$(grep -- --preset "$CALLS")"

rm -r "$root/build"
run version
sleep 0.01
touch "$root/tools/main.cpp"
FAIL=1 run version
check 'a failed build is our fault' 1 "$status"
grep -q 'compiler says no' "$scratch/err" || fail 'a failed build shows the end of its output'
check 'and does not run an old program' '' "$(cat "$scratch/out")"
run version
check 'after which it is built again' 'plumbline-core version' "$(cat "$scratch/out")"

touch "$root/tools/main.cpp"
MISSING='libtbb-dev nlohmann-json3-dev libeigen3-dev doctest-dev libbenchmark-dev' run version
grep -q '^apt-get .*update' "$CALLS" || fail 'missing packages: the list is read'
grep -q '^apt-get .*install --no-install-recommends libtbb-dev nlohmann-json3-dev libeigen3-dev$' "$CALLS" || fail 'only missing ones, and none of the tests'
! grep -q '^sudo' "$CALLS" || fail 'root needs no sudo'

MISSING='libeigen3-dev doctest-dev' run train
grep -q '^apt-get .*install --no-install-recommends libeigen3-dev$' "$CALLS" || fail 'training needs nothing of the tests'

rm -r "$root/build"
AS=1000 MISSING='libtbb-dev' run version
grep -q '^sudo env DEBIAN_FRONTEND=noninteractive apt-get .*install' "$CALLS" || fail 'others ask for root'

touch "$root/tools/main.cpp"
stand_in sudo "$log"'; exit 1'
AS=1000 MISSING='libtbb-dev doctest-dev' run test
check 'without root nothing is done' "sudo -v" "$(cat "$CALLS")"
check 'but said what to do, in one line' "plumbline: error: missing packages need root; install them with: \
apt-get update && apt-get install --no-install-recommends libtbb-dev doctest-dev" "$(cat "$scratch/err")"
check 'with its status' 1 "$status"

mkdir "$scratch/tools"
for tool in awk basename bash cat chmod cksum cp dirname env find flock grep mkdir mv nproc readlink rm sed sort tail tee touch; do
  ln -s "$(command -v "$tool")" "$scratch/tools/$tool"
done
rm "$scratch"/bin/{node,python3,ctags,mandoc}
PATH=$scratch/bin:$scratch/tools run test
grep -q '^apt-get .*install --no-install-recommends nodejs$' "$CALLS" || fail 'the tests install a missing node'
grep -q '^apt-get .*install --no-install-recommends python3 universal-ctags mandoc$' "$CALLS" || fail 'and what they run'
stand_in node "$log"

MISSING='libopenmpi-dev openmpi-bin' run test
grep -q '^apt-get .*install --no-install-recommends libopenmpi-dev openmpi-bin$' "$CALLS" || fail 'and Open MPI'

rm -r "$root/build"
run train
run test
check 'tests configure, also after another command did, so that cmake finds what was installed since, and build everything' \
  "$(configured ON ON)
$(built all)
ctest --output-on-failure -j $(nproc) -LE slow" "$(cat "$CALLS")"
run test
check 'each time' "$(configured ON ON)" "$(grep -- --preset "$CALLS")"
check 'a failing test is the status' 8 "$status"
check 'the last line counts test cases, and a crash as one' '42 passed, 2 failed' "$(tail -n 1 "$scratch/out")"
run demo
check 'after which every program is there' 'plumbline demo' "$(cat "$scratch/out")$(cat "$CALLS")"

rm -r "$root/build"
for call in 'test --help' 'test -h' 'help test'; do
  # shellcheck disable=SC2086
  run $call
  check "$call explains itself" 'usage: ./plumbline test [CTEST ARGUMENTS]' "$(head -n 1 "$scratch/out")"
  check 'and does nothing else' '0 ' "$status $(cat "$CALLS")"
done
labels=$(grep -rhoE 'LABELS ("[^"]*"|[a-z-]+)' "${launcher%/*}/tests" --include=CMakeLists.txt | tr -c 'a-z-\n' '\n' | sort -u)
[ -n "$labels" ] || fail 'expected labels in tests/CMakeLists.txt'
for label in $labels; do
  grep -qw -- "$label" "$scratch/out" || fail "the help of test names the label $label"
done
rm -rf "$root/build"
touch "$root/build"
run version
check 'where nothing can be written, one line says so and what to do' "plumbline: error: cannot write to $root/build/release, \
where the program is built; expected a checkout that you may write to (copy it: cp -r $root .)" "$(cat "$scratch/err")"
check 'with its status' 1 "$status"
echo 'the launcher does what it says'
