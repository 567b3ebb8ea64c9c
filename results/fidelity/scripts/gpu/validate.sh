#!/usr/bin/env bash
# Everything that is to be known on a machine with a GPU, in calls of at most ten minutes:
#   results/fidelity/scripts/gpu/validate.sh [--dry-run] [--program FILE] [--out DIR] [--pack FILE] [--only PART,PART...] [--seconds N]
# Needs a program built before (results/fidelity/scripts/gpu/bundle.sh) and python3; PyTorch for the part `torch`. Results land in $OUT where that is set, otherwise in
# --out (results-gpu), as they come. A second call with the same folder goes on where the first one stood. validate.py does the work.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
root=$(cd -- "$here/../../../.." && pwd)

command -v python3 >/dev/null || { echo "validate.sh: found no python3, expected version 3.8 or later" >&2 && exit 2; }
[[ -d $root/build/gpu || ! -e $root/build/gpu.tgz ]] || tar -xzf "$root/build/gpu.tgz" -C "$root/build"
program=
for folder in "$root"/build/{gpu,release,dev}; do
  for candidate in "$folder/plumbline" "$folder/tools/plumbline"; do
    [[ -n $program || ! -x $candidate ]] || program=$candidate
  done
done

# cuBLASLt and cuDNN are looked for by their names: where the loader does not know them, in the toolkit's folder and those of PyTorch.
packages=$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
for folder in /usr/local/cuda/lib64 /usr/local/cuda*/targets/*/lib "$packages"/nvidia/{cu13,cublas,cudnn}/lib; do
  [[ ! -d $folder ]] || export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder
done
# cuDNN lies in a package of its own beside PyTorch: the program looks there first.
cudnn=$(python3 -c 'import importlib.util as modules; print(list(modules.find_spec("nvidia.cudnn").submodule_search_locations)[0])' 2>/dev/null || true)
[[ -z $cudnn || ! -d $cudnn/lib ]] || export PLUMB_CUDNN=${PLUMB_CUDNN:-$cudnn/lib}
PYTHONPATH=$root/tools exec python3 "$here/validate.py" ${program:+--program "$program"} "$@"
