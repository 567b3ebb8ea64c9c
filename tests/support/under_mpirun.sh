# Sourced by tests of several processes. `launch` is the command before `-np N`, `scratch` a folder that goes at the end;
# without mpirun or a program with MPI in `plumbline` the test is skipped (exit status 77).

skip() {
  echo "skipped: $1"
  exit 77
}
command -v mpirun > /dev/null || skip "there is no mpirun"
"$plumbline" version | grep -q '^transports.* mpi' || skip "the program was built without MPI"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
launch=(mpirun --oversubscribe)
[[ $(id -u) != 0 ]] || launch+=(--allow-run-as-root)

fail() {
  echo "FAILED: $1" >&2
  exit 1
}
