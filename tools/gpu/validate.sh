#!/usr/bin/env bash
# Everything that is to be known on a machine with a GPU, in one call of under nine minutes:
#   tools/gpu/validate.sh [--dry-run] [--program FILE] [--out DIR] [--only PART,PART...] [--seconds N]
# Needs a program built before (tools/gpu/bundle.sh), bash, tar, gzip and awk; python3 with PyTorch for the part `torch`.
# Parts run one after the other, each within its own time and all of them within N seconds (530); one that fails is reported and
# the next one begins. Writes at most 8 files to DIR ($OUT when set, otherwise results-gpu). --dry-run goes through every line on the CPU back end, in a minute.
set -uo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
root=$(cd -- "$here/../.." && pwd)

# Parts in order: name, seconds on a GPU, seconds in a dry run.
parts=(
  "probe 60 5" "correctness 50 8" "bits 30 6" "memory 40 6" "modes 30 5" "calibrate 90 10" "fidelity 200 14"
  "speed 70 8" "torch 150 5" "contention 120 12"
)

dry=${PLUMB_DRY:-0} program=${PLUMB_PROGRAM_FILE:-} out=${OUT:-results-gpu} only='' part='' seconds=530
while (($#)); do
  case $1 in
    --dry-run) dry=1 ;;
    --program) program=$2 && shift ;;
    --out) out=$2 && shift ;;
    --only) only=$2 && shift ;;
    --seconds) seconds=$2 && shift ;;
    --part) part=$2 && shift ;;
    *) echo "validate.sh: unknown argument '$1', expected --dry-run, --program, --out, --only or --seconds" >&2 && exit 2 ;;
  esac
  shift
done

find_program() {
  local folder
  for folder in "$root"/build/{gpu,release,dev}; do
    for candidate in "$folder/plumbline" "$folder/tools/plumbline"; do
      [[ -x $candidate ]] && echo "$candidate" && return
    done
  done
}
[[ -n $program ]] || program=$(find_program)
if [[ ! -x $program ]]; then
  echo "validate.sh: no program '$program', expected one from tools/gpu/bundle.sh or --program FILE" >&2
  exit 2
fi

# What is run: on a GPU the sizes of the fidelity study, in a dry run the smallest that takes the same way.
if ((dry)); then
  backend=(--backend cpu) streams=(--backend cpu --executor streams) sms=() network=gpt-tiny small=gpt-tiny
  sizes=(2) large_p=2 large_m=4 other_m=6 steps=4 first_step=1 rounds=1 link=() max_error=500% max_idle=100% mode_updates=6
  loose_error=500% speed_networks=(gpt-tiny) speed_samples=2 torch_flags=(--dry-run) probe_flags=(--dry-run)
else
  # The watchdog names the action that hangs before the part is ended.
  backend=(--backend cuda --watchdog 15) streams=(--backend cuda --watchdog 15) sms=(--device-sms 8) network=$here/gpt_fidelity.json small=gpt-tiny
  sizes=(2 4) large_p=8 large_m=16 other_m=32 steps=35 first_step=5 rounds=2 link=(--link-latency 5 --link-bandwidth 50GB)
  max_error=2% max_idle=2% mode_updates=20 loose_error=5% speed_networks=(gpt2-small gpt2-medium) speed_samples=8 torch_flags=() probe_flags=()
fi
work=${PLUMB_WORK:-}
# Numbers of the fidelity and speed runs: bf16 where the program has it on the GPU.
numbers=() samples=()
if ! ((dry)) && [[ $("$program" train --help) == *bf16* ]]; then numbers=(--numbers bf16) samples=(--samples 4); fi

# cuBLASLt is looked for by its name: where the loader does not know it, in the toolkit's folder and that of PyTorch.
find_products() {
  local folder
  [[ $(ldconfig -p 2>/dev/null) == *libcublasLt.so.13* ]] && return
  for folder in /usr/local/cuda/lib64 /usr/local/cuda*/targets/*/lib \
    "$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' 2>/dev/null)"/nvidia/{cu13,cublas}/lib; do
    [[ -e $folder/libcublasLt.so.13 ]] || continue
    export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder
    return
  done
  echo "validate.sh: found no libcublasLt.so.13; every product of matrices will fail" >&2
}

run() { echo "+ $*" >&2 && "$@"; }
plumbline() { run "$program" "$@"; }
# hash FILE: of the weights at the end of a run
hash_of() { sed -n 's/.*"weights_hash":"\([0-9a-f]*\)".*/\1/p' "$1"; }

# pack NAME PATTERN...: the files of the work folder, in one archive
pack() {
  local name=$1
  shift
  # shellcheck disable=SC2086,SC2048
  (cd "$work" && tar -czf "$out/$name.tar.gz" $*)
}

# The questions of the first run, answered by the probe (tools/gpu/probe.cpp), as JSON.
part_probe() {
  local probe=${program%/*}/plumbline-gpu-probe
  "$program" version
  if [[ ! -x $probe ]]; then
    echo "no probe beside the program (it is built with the CUDA toolkit)"
    ((dry))
    return
  fi
  # With the driver's own number of connections streams may wait for each other.
  CUDA_DEVICE_MAX_CONNECTIONS=8 run timeout 20 "$probe" "${probe_flags[@]}" --only 4
  # A process each: what one breaks does not spoil the answers of the others.
  local question failed=0
  for question in 1 2 3 4 5 6 7 8 9 11; do
    run timeout 20 "$probe" "${probe_flags[@]}" --only "$question" | tee -a "$work/probe.lines"
    ((PIPESTATUS[0] == 0)) || failed=1
  done
  printf '{"format":"plumbline-gpu-probe","version":1,"answers":[\n%s\n]}\n' "$(sed '$!s/$/,/' "$work/probe.lines")" >"$work/probe.json"
  return "$failed"
}

# Losses of both back ends, step by step.
part_correctness() {
  local schedule
  for schedule in 1f1b zb-h1; do
    plumbline train "$schedule" -p 2 -m 4 --network "$small" --backend cpu --steps 4 --losses "$work/cpu.csv" >/dev/null || return 1
    plumbline train "$schedule" -p 2 -m 4 --network "$small" "${streams[@]}" --steps 4 --losses "$work/other.csv" >/dev/null || return 1
    paste -d, "$work/cpu.csv" "$work/other.csv" | awk -F, -v name="$schedule" '
      NR > 1 { off = ($2 - $4) / $2; if (off < 0) off = -off; if (off > worst) worst = off; rows++ }
      END { printf "%s: %d losses, off by at most %.2e, expected 1e-4\n", name, rows, worst; exit !(rows > 0 && worst <= 1e-4) }' || return 1
  done
  ((${#numbers[@]} == 0)) || half_precision
}

# bf16 at the sizes of the speed runs, held against float32 of the same kernels' slower path: heads of width 64, several tiles.
half_precision() {
  local name=${speed_networks[0]} options
  options=(train 1f1b -p 1 -m 1 --network "$name" --samples 1 "${streams[@]}" --steps 3)
  plumbline "${options[@]}" --losses "$work/full.csv" >/dev/null && plumbline "${options[@]}" "${numbers[@]}" --losses "$work/half.csv" >/dev/null || return 1
  paste -d, "$work/full.csv" "$work/half.csv" | awk -F, -v name="$name" '
    NR > 1 { off = ($2 - $4) / $2; if (off < 0) off = -off; if (off > worst) worst = off; rows++ }
    END { printf "%s, bf16 beside float32: %d losses, off by at most %.2e, expected 1e-2\n", name, rows, worst; exit !(rows > 0 && worst <= 1e-2) }'
}

# The same bits as without a pipeline, on a partition of the same size, with op graphs and without them, in float32 and
# in the numbers of the fidelity runs.
part_bits() {
  bits_with && { ((${#numbers[@]} == 0)) || bits_with "${numbers[@]}"; }
}

# bits_with OPTION...
bits_with() {
  local schedule first='' found
  for schedule in "1f1b -p 1 -m 8" "1f1b -p 2 -m 8" "zb-h1 -p 2 -m 8" "1f1b -p 2 -m 8 --no-graphs"; do
    # shellcheck disable=SC2086
    plumbline train $schedule --network "$small" "$@" "${streams[@]}" "${sms[@]}" --steps 3 --json "$work/bits.json" >/dev/null || return 1
    found=$(hash_of "$work/bits.json")
    echo "$schedule $*: weights $found"
    [[ -n $found ]] || return 1
    first=${first:-$found}
    [[ $found == "$first" ]] || { echo "expected $first" && return 1; }
  done
}

# Peaks to the byte, class by class.
part_memory() {
  local schedule updates
  plumbline profile --network "$small" "${backend[@]}" "${sms[@]}" --stages 2 -m 4 --rounds 1 --calm -o "$work/memory.profile.json" >/dev/null || return 1
  for schedule in gpipe 1f1b zb-h1 pipemare; do
    plumbline train "$schedule" -p 2 -m 4 --network "$small" "${streams[@]}" "${sms[@]}" --steps 2 --json "$work/memory.measured.json" >/dev/null || return 1
    updates=()
    [[ $schedule == pipemare ]] && updates=(--updates 2)
    plumbline simulate "$schedule" -p 2 -m 4 --profile "$work/memory.profile.json" --transfers rendezvous "${updates[@]}" --json "$work/memory.predicted.json" >/dev/null || return 1
    plumbline compare "$work/memory.predicted.json" "$work/memory.measured.json" --memory-exact >"$work/memory.text" || { cat "$work/memory.text" && return 1; }
    echo "$schedule: peaks equal"
  done
}

# A step by plain launches and by op graphs, and what the probe of the clock says of each run.
part_modes() {
  local flag
  for flag in '' --no-graphs; do
    # shellcheck disable=SC2086
    plumbline train 1f1b -p "$large_p" -m "$large_m" --updates "$mode_updates" --network "$network" "${samples[@]}" "${numbers[@]}" "${streams[@]}" "${sms[@]}" "${link[@]}" $flag \
      --json "$work/modes.json" >/dev/null || return 1
    echo "${flag:-op graphs}: $(grep -o '"step_time_ns":[0-9]*' "$work/modes.json"), $(grep -o '"machine":"[^"]*"' "$work/modes.json")"
  done
}

# profile_of STAGES DEVICES: measured on 1F1B with as many microbatches, nothing else
profile_of() {
  plumbline profile --network "$network" "${samples[@]}" "${numbers[@]}" "${backend[@]}" "${sms[@]}" "${link[@]}" --stages "$1" --devices "$2" -m "$large_m" --rounds "$rounds" \
    --calm -o "$work/profile.$1.$2.json"
}

# Virtual devices have multiprocessors of their own; otherwise nothing that follows means anything.
part_calibrate() {
  local p failed=0
  plumbline train 1f1b -p "$large_p" -m "$large_m" --updates 1 --network "$small" "${streams[@]}" "${sms[@]}" --json "$work/machine.json" >/dev/null || return 1
  if grep -q 'share all SMs' "$work/machine.json"; then
    echo "virtual devices share all SMs, so that fidelity cannot be measured: $(grep -o '"machine":"[^"]*"' "$work/machine.json")"
    return 1
  fi
  profile_of "$large_p" "$large_p" || failed=1
  profile_of $((2 * large_p)) "$large_p" || failed=1
  for p in "${sizes[@]}"; do
    [[ -s $work/profile.$p.$p.json ]] || profile_of "$p" "$p" || failed=1
  done
  pack profiles 'profile.*.json' || failed=1
  return "$failed"
}

# config SCHEDULE P M STAGES: predicted from the profile, then run
config() {
  local name=$1.p$2.m$3 order=()
  [[ $1 == pipemare ]] && order=(--opt timing=1f1b) # one pass at a time, as the profile was measured
  if ((!dry && SECONDS > ${PLUMB_PART_SECONDS:-600} - 30)); then # what has been run is still to be compared
    echo "$name: no time left"
    return 1
  fi
  plumbline simulate "$1" -p "$2" -m "$3" "${order[@]}" --updates "$steps" --profile "$work/profile.$4.$2.json" --transfers rendezvous \
    --json "$work/$name.predicted.json" >/dev/null || return 1
  plumbline train "$1" -p "$2" -m "$3" "${order[@]}" --updates "$steps" --network "$network" "${samples[@]}" "${numbers[@]}" "${streams[@]}" "${sms[@]}" "${link[@]}" \
    --json "$work/$name.measured.json" >/dev/null || return 1
  pairs+=("$work/$name.predicted.json" "$work/$name.measured.json")
}

# rank NAME ERROR: the table of all configurations so far
rank() {
  ((${#pairs[@]})) || return 1
  run "$program" compare --ranking "${pairs[@]}" --first-step "$first_step" --max-error "$2" --max-idle "$max_idle" \
    --json "$out/$1.json" | tee "$work/$1.txt"
  # On shared processors the table is all that can be asked for.
  ((PIPESTATUS[0] == 0 || (dry && PIPESTATUS[0] == 3)))
}

# Calibrated on 1F1B at one M; everything else is predicted without looking again.
part_fidelity() {
  local p schedule failed=0 pairs=()
  for schedule in 1f1b gpipe zb-h1 chimera pipemare; do config "$schedule" "$large_p" "$large_m" "$large_p" || failed=1; done
  for schedule in interleaved zb-v dualpipev; do config "$schedule" "$large_p" "$large_m" $((2 * large_p)) || failed=1; done
  for schedule in 1f1b zb-h1; do config "$schedule" "$large_p" "$other_m" "$large_p" || failed=1; done
  ((dry)) || steps=20 # fewer devices take longer for a step
  for p in "${sizes[@]}"; do
    ((p == large_p)) && continue
    for schedule in 1f1b zb-h1 gpipe; do config "$schedule" "$p" "$large_m" "$p" || failed=1; done
  done
  rank fidelity "$max_error" || failed=1
  pack timelines '*.predicted.json' '*.measured.json'
  return "$failed"
}

# All of the GPU: actions alone, then while others run; predicted with what was fitted.
part_contention() {
  local schedule failed=0 pairs=() saved=("${sms[@]}") p=$large_p
  ((dry)) || sms=(--device-mode throughput)
  plumbline profile --contention --network "$network" "${samples[@]}" "${numbers[@]}" "${backend[@]}" "${sms[@]}" "${link[@]}" --stages "$p" -m "$large_m" --rounds "$rounds" \
    -o "$work/profile.$p.$p.json" || return 1
  cp "$work/profile.$p.$p.json" "$work/profile.contention.json"
  pack profiles 'profile.*.json'
  for schedule in 1f1b gpipe zb-h1; do config "$schedule" "$p" "$large_m" "$p" || failed=1; done
  rank contention "$loose_error" || failed=1
  sms=("${saved[@]}")
  return "$failed"
}

# Training speed on the whole GPU.
part_speed() {
  local name failed=0
  for name in "${speed_networks[@]}"; do
    plumbline train 1f1b -p 1 -m 2 --network "$name" --samples "$speed_samples" "${numbers[@]}" "${streams[@]}" --updates $((steps / 2 + 1)) \
      --json "$work/speed.$name.json" >/dev/null || { failed=1 && continue; }
    awk -v name="$name" 'match($0, /"step_time_ns":[0-9]+/) { step = substr($0, RSTART + 15, RLENGTH - 15) }
      match($0, /"tokens_per_s":[0-9.e+]+/) { tokens = substr($0, RSTART + 15, RLENGTH - 15) }
      END { printf "{\"network\":\"%s\",\"what\":\"plumbline\",\"step_ns\":%s,\"tokens_per_s\":%s}\n", name, step, tokens; exit !(tokens > 0) }' \
      "$work/speed.$name.json" | tee -a "$out/speed.jsonl" || failed=1
  done
  return "$failed"
}

# The same beside PyTorch, eager and compiled.
part_torch() {
  run python3 "$here/torch_speed.py" "${torch_flags[@]}" --samples "$speed_samples" --microbatches 2 --out "$out/speed.jsonl"
}

if [[ -n $part ]]; then
  "part_$part"
  exit
fi

mkdir -p "$out"
out=$(cd -- "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PLUMB_DRY=$dry PLUMB_PROGRAM_FILE=$program PLUMB_WORK=$work OUT=$out
rm -f "$out"/{summary,log}.txt "$out"/{fidelity,contention,probe}.json "$out"/speed.jsonl "$out"/{profiles,timelines}.tar.gz
failures=0
((dry)) || find_products
for entry in "${parts[@]}"; do
  read -r name limit short <<<"$entry"
  [[ -z $only || ",$only," == *",$name,"* ]] || continue
  if ((dry)); then
    limit=$((short * 4))
  elif ((seconds - SECONDS < limit)); then
    limit=$((seconds - SECONDS))
    ((limit < 10)) && { printf '%-12s         no time left\n' "$name" | tee -a "$out/summary.txt" && failures=$((failures + 1)) && continue; }
  fi
  echo "== $name" >>"$out/log.txt"
  begin=$SECONDS
  PLUMB_PART_SECONDS=$limit timeout -k 5 "$limit" bash "${BASH_SOURCE[0]}" --part "$name" >>"$out/log.txt" 2>&1 && status=ok || status="failed ($?)"
  [[ $status == 'failed (124)' || $status == 'failed (137)' ]] && status="out of time ($limit s)"
  [[ $status == ok ]] || failures=$((failures + 1))
  printf '%-12s %4d s  %s\n' "$name" $((SECONDS - begin)) "$status" | tee -a "$out/summary.txt"
done
cp "$work/probe.json" "$out/" 2>/dev/null
for table in fidelity contention; do [[ -s $work/$table.txt ]] && { echo && cat "$work/$table.txt"; } >>"$out/summary.txt"; done
echo "$failures parts failed; results in $out"
exit $((failures > 0 ? 3 : 0))
