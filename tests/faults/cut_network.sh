#!/usr/bin/env bash
# A training run between two hosts whose link is cut in the middle of a step: the job ends by itself, with a line that says
# why, and leaves no process. The hosts are network namespaces with a pair of virtual links, so this needs root and Open MPI.
# Usage: cut_network.sh PROGRAM [CUTS]. Exit status 77: skipped.
set -euo pipefail
program=$(realpath -- "$1")
cuts=${2:-1}
readonly patience=40 # seconds after the cut in which both sides must have ended: 30 s of silence and some to end

skip() {
  echo "skipped: $1"
  exit 77
}
command -v mpirun >/dev/null || skip "there is no mpirun"
command -v ip >/dev/null || skip "there is no ip (iproute2)"
[ "$(id -u)" = 0 ] || skip "network namespaces need root"
"$program" version | grep -q '^transports.* mpi' || skip "the program was built without MPI"

a=plumb-a-$$
b=plumb-b-$$
scratch=$(mktemp -d)
cleanup() {
  for host in $a $b; do
    ip netns pids "$host" 2>/dev/null | xargs -r kill -9 2>/dev/null || true
    ip netns del "$host" 2>/dev/null || true
  done
  rm -rf "$scratch"
}
trap cleanup EXIT
{ ip netns add "$a" && ip netns add "$b"; } 2>/dev/null || skip "network namespaces are not allowed here"
ip -n "$a" link add eth0 type veth peer name eth0 netns "$b" || skip "virtual links are not allowed here"
ip -n "$a" addr add 10.77.0.1/24 dev eth0
ip -n "$b" addr add 10.77.0.2/24 dev eth0

# Stands for ssh: mpirun starts its daemon on the second host by it.
cat >"$scratch/agent" <<AGENT
#!/bin/sh
while :; do case "\$1" in -*) shift ;; *) break ;; esac; done
shift # the host
exec ip netns exec $b unshare --uts sh -c "hostname host-b; \$*"
AGENT
chmod +x "$scratch/agent"

# cut NAME LINE MCA...: a run that is cut once it has saved something; LINE must be said.
cut() {
  local name=$1 line=$2 job started folder=$scratch/saved
  shift 2
  rm -rf "$folder"
  for host in $a $b; do ip -n "$host" link set lo up && ip -n "$host" link set eth0 up; done
  ip netns exec "$a" unshare --uts sh -c "hostname host-a; exec mpirun $([ "$(id -u)" = 0 ] && echo --allow-run-as-root) \
    --oversubscribe --mca plm_rsh_agent $scratch/agent --mca btl tcp,self $* --host 10.77.0.1:2,10.77.0.2:2 -np 4 $program \
    train 1f1b -p 4 -m 4 --network gpt-tiny --sequence 8 --samples 1 --steps 100000 --transport mpi --checkpoint $folder \
    --losses $scratch/losses.csv" >"$scratch/out" 2>&1 &
  job=$!
  until [ "$(find "$folder" -maxdepth 1 -name 'update-*' 2>/dev/null | wc -l)" -ge 2 ]; do
    kill -0 $job 2>/dev/null || { cat "$scratch/out"; echo "FAILED: $name: the job ended before the link was cut" >&2; exit 1; }
    sleep 0.05
  done
  sleep "0.$((RANDOM % 10))"
  ip -n "$b" link set eth0 down
  started=$SECONDS
  while [ -n "$(ranks)" ] && ((SECONDS - started <= patience)); do sleep 0.2; done
  local took=$((SECONDS - started))
  if [ -n "$(ranks)" ] || ! grep -q "$line" "$scratch/out"; then
    ranks
    cat "$scratch/out"
    echo "FAILED: $name: after $took s ranks or the second host's processes are left, or nobody said: $line" >&2
    exit 1
  fi
  # mpirun itself goes when it looks for its daemon on the other host.
  while [ -n "$*" ] && kill -0 $job 2>/dev/null && ((SECONDS - started <= patience)); do sleep 0.2; done
  if kill -0 $job 2>/dev/null; then
    [ -z "$*" ] || { cat "$scratch/out"; echo "FAILED: $name: mpirun is left after $patience s" >&2; exit 1; }
    ip netns pids "$a" | xargs -r kill -9 2>/dev/null || true
    wait $job 2>/dev/null || true
  elif wait $job; then
    echo "FAILED: $name: mpirun ended with status 0" >&2
    exit 1
  fi
  echo "$name: all ranks on both hosts ended within $took s: $(grep -m 1 "$line" "$scratch/out")"
}

# The processes of the program on both hosts.
ranks() {
  local host process
  for host in $a $b; do
    for process in $(ip netns pids "$host"); do
      [ "$(readlink "/proc/$process/exe" 2>/dev/null)" != "$program" ] || echo "$host $process"
    done
  done
}

for ((i = 1; i <= cuts; ++i)); do
  cut "mpirun as it is" 'nothing was heard of process'
  cut "mpirun that looks for its daemons" 'lost communication with a remote daemon\|nothing was heard of process' \
    --mca oob_tcp_keepalive_time 5 --mca oob_tcp_keepalive_intvl 2 --mca oob_tcp_keepalive_probes 3
done
