#!/usr/bin/env bash
# Completes command lines as bash and zsh do.  completion_test.sh PLUMBLINE
# Exit status 77: skipped for zsh, with the reason on standard output; bash has been tested by then.
set -euo pipefail
program=$(readlink -f "$1")
failed=0

check() { # WHAT WANTED GOT...
  local what=$1 wanted=$2
  shift 2
  if ! printf '%s\n' "$@" | grep -qxF -- "$wanted"; then
    echo "$what: '$wanted' is not among: ${*:0:12}"
    failed=1
  fi
}

# shellcheck source=/dev/null
source <("$program" completion bash)
complete_line() { # WORD...: the last one is being typed
  COMP_WORDS=("$@")
  COMP_CWORD=$(($# - 1))
  COMPREPLY=()
  _plumbline
}
complete_line plumbline si; check "command" simulate "${COMPREPLY[@]}"
complete_line plumbline simulate zb-; check "schedule" zb-h1 "${COMPREPLY[@]}"
complete_line plumbline simulate 1f1b --dev; check "option" --devices "${COMPREPLY[@]}"
complete_line plumbline simulate 1f1b --network llama3-7; check "network" llama3-70b "${COMPREPLY[@]}"
complete_line plumbline plan --cluster a1; check "cluster" a100 "${COMPREPLY[@]}"
complete_line plumbline device me; check "subcommand" measure "${COMPREPLY[@]}"
complete_line plumbline search --placement s; check "values of an option" straight "${COMPREPLY[@]}"
complete_line plumbline plan --runtime mega; check "values of an option" megatron "${COMPREPLY[@]}"
complete_line plumbline campaign --trace bamboo-p; check "names of an option" bamboo-p3 "${COMPREPLY[@]}"
complete_line plumbline help sw; check "help" sweep "${COMPREPLY[@]}"
complete_line plumbline schedules zb-v; check "names" zb-v "${COMPREPLY[@]}"
cd "$(mktemp -d)" && touch own-schedule.txt
complete_line plumbline validate own; check "file" own-schedule.txt "${COMPREPLY[@]}"
complete_line plumbline simulate 1f1b --html own; check "file of an option" own-schedule.txt "${COMPREPLY[@]}"
[ $failed = 0 ] || exit 1
echo "bash: 13 lines completed"

command -v zsh >/dev/null || { echo "skipped: no zsh found"; exit 77; }
"$program" completion zsh >_plumbline
# A real zsh on a terminal of its own: what it shows after a tab.
python3 - "$PWD" <<'PYTHON'
import os, pty, re, select, sys, time
def shown(line):
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm", COLUMNS="200", LINES="60", PS1="> ")
        os.execvp("zsh", ["zsh", "-f", "-i"])
    def read(until, seconds=15):
        text, end = "", time.monotonic() + seconds
        while time.monotonic() < end and not re.search(until, text):
            if select.select([terminal], [], [], 0.1)[0]:
                text += os.read(terminal, 65536).decode(errors="replace")
        return text
    os.write(terminal, f"fpath=({sys.argv[1]} $fpath); autoload -Uz compinit; compinit -u -D; print READY\n".encode())
    read(r"\nREADY|\rREADY|[^ ]READY\r")
    os.write(terminal, (line + "\t\t").encode())
    text = read(r"(?!)", 2.5)
    os.write(terminal, b"\x03exit\n")
    os.close(terminal)
    os.waitpid(pid, 0)
    return text
cases = [("plumbline sim", "simulate"), ("plumbline simulate dualpi", "dualpipev"), ("plumbline simulate 1f1b --micro", "--microbatches"),
         ("plumbline simulate 1f1b --network llama3-7", "llama3-70b"), ("plumbline device m", "measure"), ("plumbline search --placement str", "straight"),
         ("plumbline campaign --trace bamboo-p", "bamboo-p3"), ("plumbline validate own-s", "own-schedule.txt")]
wrong = [(line, wanted, text[-200:]) for line, wanted in cases for text in [shown(line)] if wanted not in text]
for case in wrong:
    print("zsh:", case)
print(f"zsh: {len(cases) - len(wrong)} of {len(cases)} lines completed")
sys.exit(1 if wrong else 0)
PYTHON
