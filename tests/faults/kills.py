#!/usr/bin/env python3
"""Kills training runs (SIGKILL) at random moments; every one goes on from its checkpoints to the bits of an undisturbed run.

    kills.py PROGRAM [--deaths 1000] [--seed 1]           one process
    kills.py PROGRAM --ranks 100 [--seed 1]               one rank of four under mpirun, so many jobs

One process: `train ... --checkpoint D --resume` is started and killed until it ends by itself; then the last checkpoint (every
tensor and the state) and the losses must be those of an undisturbed run, byte for byte. Several: mpirun must end within
45 s (unless all ranks have ended and it waits for a lock of its own, which is counted) with a status other than 0 and a line
that names the rank, none of its processes may be left, and the job must go on
from its checkpoints. Exit status 77: skipped, there is no mpirun.
"""
import argparse
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

MPI_STEPS = 60  # of jobs with several ranks
LIMIT = 45  # seconds that a job may live on after one of its ranks was killed: 30 s of silence, and some
SIZE = '--network gpt-tiny --sequence 8 --samples 1'
RUNS = ['1f1b -p 4 -m 4', 'zb-h1 -p 4 -m 4', 'chimera -p 4 -m 4', 'interleaved -p 2 -m 4', 'pipedream -p 4 -m 2',
        'pipemare -p 4 -m 2 --t1 --t2', 'gpipe -p 2 -m 4 --recompute all', 'bpipe -p 4 -m 8']

RANK_RUNS = [run for run in RUNS if '-p 4' in run]


def last_checkpoint(folder):
    found = sorted(path for path in folder.glob('update-*') if path.name.removeprefix('update-').isdigit())
    return {path.name: path.read_bytes() for path in sorted(found[-1].iterdir())} if found else {}


class Job:
    """A training run with checkpoints in `folder`."""

    def __init__(self, program, run, executor, steps, folder, launcher=()):
        self.folder = folder
        self.command = [*launcher, str(program), 'train', *run.split(), *SIZE.split(), '--steps', str(steps), *executor,
                        '--checkpoint', str(folder / 'saved'), '--resume', '--losses', str(folder / 'losses.csv')]

    def start(self, output):
        return subprocess.Popen(self.command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)

    def finish(self):
        done = subprocess.run(self.command, capture_output=True)
        if done.returncode != 0:
            sys.exit(f'{" ".join(self.command)}: ended with {done.returncode}: {(done.stderr or done.stdout).decode()[-2000:]}')

    def result(self):
        return {**last_checkpoint(self.folder / 'saved'), 'losses.csv': (self.folder / 'losses.csv').read_bytes()}


def differing(one, other):
    return [name for name in sorted({*one, *other}) if one.get(name) != other.get(name)]


def without_order(result):
    """A result whose tensors are told by name. (Several processes write those of each rank together, one process
    writes the losses last.)"""
    head_bytes = int.from_bytes(result['tensors.safetensors'][:8], 'little')
    head = json.loads(result['tensors.safetensors'][8:8 + head_bytes])
    data = result['tensors.safetensors'][8 + head_bytes:]
    tensors = {name: (tensor['dtype'], tensor['shape'], data[slice(*tensor['data_offsets'])])
               for name, tensor in head.items()}
    state = json.loads(result['state.json'])
    state.pop('crc32c')
    state['checksums'].pop('head')
    return {'losses.csv': result['losses.csv'], 'state.json': state, 'tensors.safetensors': tensors}


def kill_one_process(program, deaths, scratch, choose):
    """Kills runs until there were so many deaths; every run ends with the bits of an undisturbed one."""
    died = ended = round_number = 0
    where = {}
    while died < deaths:
        run = RUNS[round_number % len(RUNS)]
        executor = ['--executor', ['serial', 'threads'][round_number // len(RUNS) % 2]]
        round_number += 1
        folder = scratch / f'run{round_number}'
        undisturbed = Job(program, run, ['--executor', 'serial'], 25, scratch / f'whole{round_number}')
        undisturbed.folder.mkdir()
        folder.mkdir()
        started = time.monotonic()
        undisturbed.finish()
        length = time.monotonic() - started
        job = Job(program, run, executor, 25, folder)
        while True:
            with open(folder / 'out', 'wb') as output:
                process = job.start(output)
            try:
                status = process.wait(choose.uniform(0, length))
            except subprocess.TimeoutExpired:
                process.kill()
                status = process.wait()
            if status == 0:
                break
            if status != -signal.SIGKILL:
                sys.exit(f'{" ".join(job.command)}: ended with {status}: {(folder / "out").read_text()[-2000:]}')
            died += 1
            saved = folder / 'saved'
            stage = 'before the first checkpoint'
            if saved.exists() and last_checkpoint(saved):
                stage = 'with an unfinished checkpoint' if list(saved.glob('*unfinished*')) else 'between checkpoints'
            where[stage] = where.get(stage, 0) + 1
        ended += 1
        wrong = differing(job.result(), undisturbed.result())
        if wrong:
            sys.exit(f'{" ".join(job.command)}: resumed to other bits in {", ".join(wrong)}')
        shutil.rmtree(folder)
        shutil.rmtree(undisturbed.folder)
    print(f'{died} deaths in {ended} runs, every run ended with the bits of an undisturbed one')
    for stage, count in sorted(where.items()):
        print(f'  {count} {stage}')


def processes_of(session):
    """Numbers and command lines of what lives in a session."""
    found = {}
    for path in pathlib.Path('/proc').glob('[0-9]*'):
        try:
            stat = (path / 'stat').read_text()
            fields = stat[stat.rindex(')') + 2:].split()
            if int(fields[3]) == session and fields[0] != 'Z':
                found[int(path.name)] = (path / 'cmdline').read_bytes().split(b'\0')
        except (OSError, ValueError):
            continue
    return found


def stacks_of(session):
    """Where every thread of every process of a session is, as gdb tells it."""
    if shutil.which('gdb') is None:
        return 'there is no gdb to tell where its processes are'
    told = []
    for number, words in processes_of(session).items():
        command = ['gdb', '-p', str(number), '-batch', '-ex', 'thread apply all bt 12']
        done = subprocess.run(command, capture_output=True, text=True, errors='replace')
        frames = [line for line in done.stdout.splitlines() if line.startswith(('#', 'Thread'))]
        told.append(f'{number}: {b" ".join(words).decode(errors="replace")}\n' + '\n'.join(frames))
    return '\n\n'.join(told)


def ranks_of(session, program):
    """Process numbers of the ranks, in their order."""
    ranks = {}
    for number, words in processes_of(session).items():
        if words[0].decode() != str(program):
            continue
        try:
            environment = pathlib.Path(f'/proc/{number}/environ').read_bytes().split(b'\0')
        except OSError:
            continue
        for entry in environment:
            if entry.startswith(b'OMPI_COMM_WORLD_RANK='):
                ranks[int(entry.split(b'=')[1])] = number
    return ranks


def kill_ranks(program, count, scratch, choose):
    launcher = ['mpirun', '--oversubscribe', *(['--allow-run-as-root'] if os.geteuid() == 0 else []), '-np', '4']
    if shutil.which('mpirun') is None:
        print('skipped: there is no mpirun')
        sys.exit(77)
    killed = resumed = unnamed = hung = 0
    times = []
    while killed < count:
        run = RANK_RUNS[killed % len(RANK_RUNS)]
        folder = scratch / f'job{killed}'
        folder.mkdir()
        job = Job(program, run, ['--transport', 'mpi'], MPI_STEPS, folder, launcher)
        with open(folder / 'out', 'wb') as output:
            process = job.start(output)
        moment = time.monotonic() + choose.uniform(0.2, 2.5)
        victim = choose.randrange(4)
        ranks = {}
        while process.poll() is None and (time.monotonic() < moment or victim not in ranks):
            time.sleep(0.02)
            ranks = ranks_of(process.pid, program)
        if process.poll() is not None:
            if process.returncode != 0:
                sys.exit(f'{" ".join(job.command)}: ended by itself: {(folder / "out").read_text()[-2000:]}')
            shutil.rmtree(folder)  # too quick for us
            continue
        os.kill(ranks[victim], signal.SIGKILL)
        started = time.monotonic()
        try:
            status = process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            where = stacks_of(process.pid)
            alone = list(processes_of(process.pid)) == [process.pid]
            os.killpg(process.pid, signal.SIGKILL)
            if alone and 'PMIx_server_finalize' in where:
                process.wait()
                hung += 1
                killed += 1
                shutil.rmtree(folder)
                continue
            sys.exit(f'{" ".join(job.command)}: lived on for {LIMIT} s after rank {victim} was killed\n'
                     f'{(folder / "out").read_text()[-2000:]}\n{where}')
        times.append(time.monotonic() - started)
        killed += 1
        said = (folder / 'out').read_text()
        named = re.search(rf'rank {victim}\b.*(signal|killed)', said.replace('\n', ' '))
        # Of a process that has not joined the job yet mpirun says only that one has ended.
        early = not last_checkpoint(folder / 'saved') and '1 process returned' in said
        unnamed += not named
        if status == 0 or not (named or early):
            sys.exit(f'{" ".join(job.command)}: status {status}, rank {victim} is not named: {said[-2000:]}')
        end = time.monotonic() + LIMIT
        while (left := processes_of(process.pid)) and time.monotonic() < end:
            time.sleep(0.02)
        if left:
            sys.exit(f'{" ".join(job.command)}: left behind {left}')
        if last_checkpoint(folder / 'saved'):
            check_goes_on(program, run, folder, scratch)
            resumed += 1
        shutil.rmtree(folder)
    median = sorted(times)[len(times) // 2]
    print(f'{killed} ranks killed, every rank of the job ended, mpirun within {max(times):.1f} s (median {median:.1f} s), no '
          f'process left; but {hung} times mpirun alone was left, waiting for itself in PMIx_server_finalize; '
          f'{killed - unnamed} times the rank was named, {unnamed} times it had not joined the job yet; {resumed} of them '
          f'went on from a checkpoint to the bits of an undisturbed run')


whole_runs = {}


def check_goes_on(program, run, folder, scratch):
    """Finished on one process (if the job had not saved its last update already): the bits of an undisturbed run."""
    job = Job(program, run, ['--executor', 'serial'], MPI_STEPS, folder)
    job.finish()
    if run not in whole_runs:
        whole = scratch / f'whole{len(whole_runs)}'
        whole.mkdir()
        undisturbed = Job(program, run, ['--executor', 'serial'], MPI_STEPS, whole)
        undisturbed.finish()
        whole_runs[run] = undisturbed.result()
    wrong = differing(without_order(job.result()), without_order(whole_runs[run]))
    if wrong:
        sys.exit(f'{run}: resumed to other bits in {", ".join(wrong)}')


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('program', type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument('--deaths', type=int, default=1000)
    parser.add_argument('--ranks', type=int, default=0)
    parser.add_argument('--seed', type=int, default=1)
    arguments = parser.parse_args()
    choose = random.Random(arguments.seed)
    scratch = pathlib.Path(tempfile.mkdtemp(prefix='plumbline-kills-'))
    print(f'in {scratch}, which stays if something is wrong', flush=True)
    if arguments.ranks:
        kill_ranks(arguments.program, arguments.ranks, scratch, choose)
    else:
        kill_one_process(arguments.program, arguments.deaths, scratch, choose)
    shutil.rmtree(scratch)


if __name__ == '__main__':
    main()
