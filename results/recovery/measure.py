#!/usr/bin/env python3
"""Kills a rank of training jobs under mpirun, lets them go on from their checkpoints, and compares with `campaign`.

    measure.py PROGRAM [--steps 60] [--kills 2] [--jobs 2] [--seed 1] > recovery.json

Steps take given times (back end paced: 1f1b on 4 processes, F=20, B=40 ms), so that a busy machine measures the recovery and not
itself. What a checkpoint, a start and the end of a job after a kill take is measured first, by jobs of their own. The
prediction plays the rule `checkpoint` with these times and the moments of the kills, until as many steps are done.
"""
import argparse
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

RUN = '1f1b -p 4 -m 4 --network gpt-tiny --sequence 8 --samples 1 --backend paced --cost F=20,B=40 --transport mpi'
EVERY = 10  # steps between checkpoints
STEP = 0.42  # seconds of a step, as `simulate 1f1b -p 4 -m 4 --cost F=20,B=40` says


def launcher():
    return ['mpirun', '--oversubscribe', *(['--allow-run-as-root'] if os.geteuid() == 0 else []), '-np', '4']


def command(program, steps, folder, every=EVERY):
    saved = ['--checkpoint', str(folder / 'saved'), '--checkpoint-every', str(every), '--resume'] if every else []
    return [*launcher(), str(program), 'train', *RUN.split(), '--steps', str(steps), *saved]


def timed(program, steps, folder, every=EVERY):
    folder.mkdir(parents=True)
    began = time.monotonic()
    done = subprocess.run(command(program, steps, folder, every), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr or done.stdout)
    return time.monotonic() - began


def rank_of(session, program, rank):
    """The process of a rank."""
    for path in pathlib.Path('/proc').glob('[0-9]*'):
        try:
            stat = (path / 'stat').read_text()
            environment = (path / 'environ').read_bytes().split(b'\0')
            words = (path / 'cmdline').read_bytes().split(b'\0')
        except OSError:
            continue
        mine = int(stat[stat.rindex(')') + 2:].split()[3]) == session and words[0].decode() == str(program)
        if mine and f'OMPI_COMM_WORLD_RANK={rank}'.encode() in environment:
            return int(path.name)
    return None


def disturbed(program, steps, folder, moments, victims):
    """Seconds until all steps are done; when kills came; seconds from each kill until mpirun had ended."""
    folder.mkdir(parents=True)
    began = time.monotonic()
    kills, ends = [], []
    while True:
        process = subprocess.Popen(command(program, steps, folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   start_new_session=True)
        if len(kills) < len(moments):
            while process.poll() is None:
                due = time.monotonic() - began >= moments[len(kills)]
                victim = rank_of(process.pid, program, victims[len(kills)]) if due else None
                if victim is not None:
                    os.kill(victim, signal.SIGKILL)
                    kills.append(time.monotonic() - began)
                    break
                time.sleep(0.005)
        status = process.wait()
        if len(ends) < len(kills):
            ends.append(time.monotonic() - began - kills[-1])
        if status == 0:
            return time.monotonic() - began, kills, ends


def campaign_samples(program, folder, known, kills, seconds):
    layouts = {'format': 'plumbline-layouts', 'version': 1, 'samples': 1,
               'layouts': [{'pipelines': 1, 'stages': 4, 'ms': known['step_s'] * 1000}]}
    (folder / 'layouts.json').write_text(json.dumps(layouts))
    # The first start has no job before it that must end.
    lines = [f'0,add,n{n}' for n in range(4)]
    for number, at in enumerate(kills):
        moment = round((at + known['end_s']) * 1000)
        lines += [f'{moment},remove,n{number}', f'{moment},add,n{number + 4}']
    (folder / 'nodes.csv').write_text('\n'.join(lines) + '\n')
    done = subprocess.run([str(program), 'campaign', '--layouts', str(folder / 'layouts.json'), '--trace', str(folder / 'nodes.csv'),
                           '--ready', '0', '--rules', 'checkpoint', '--rule-opt', 'nodes=4',
                           '--rule-opt', f'every={EVERY * known["step_s"] * 0.999}', '--rule-opt', f'save={known["save_s"]}',
                           '--rule-opt', f'restart={known["end_s"] + known["start_s"]}',
                           '--hours', repr((seconds + known['end_s']) / 3600), '--json', '-'], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)['rules'][0]['runs'][0]['samples']


def predicted(program, folder, known, kills, steps):
    """Seconds until the rule has done so many steps."""
    low, high = 0.0, 10 * steps * known['step_s'] + 600
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (low, middle) if campaign_samples(program, folder, known, kills, middle) >= steps - 1e-6 else (middle, high)
    return high


def calibrated(program, scratch):
    start = timed(program, 10, scratch / 'a', 0) - 10 * STEP
    saving = timed(program, 60, scratch / 'b')
    ends = disturbed(program, 20, scratch / 'c', [4.0], [1])[2]
    return {'step_s': STEP, 'save_s': max(0.0, (saving - start - 60 * STEP) / (60 // EVERY)), 'start_s': start, 'end_s': ends[0]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('program')
    parser.add_argument('--steps', type=int, default=60)
    parser.add_argument('--kills', type=int, default=2)
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('--seed', type=int, default=1)
    asked = parser.parse_args()
    program = pathlib.Path(asked.program).resolve()
    choose = random.Random(asked.seed)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        known = calibrated(program, scratch)
        rows = []
        for job in range(asked.jobs):
            length = known['start_s'] + asked.steps * known['step_s']
            moments = sorted(choose.uniform(3, 0.9 * length) for _ in range(asked.kills))
            victims = [choose.randrange(4) for _ in moments]
            took, kills, ends = disturbed(program, asked.steps, scratch / f'job{job}', moments, victims)
            expected = predicted(program, scratch, known, kills, asked.steps)
            rows.append({'kills_s': kills, 'ends_s': ends, 'measured_s': took, 'predicted_s': expected})
            print(f'{took:.2f} s measured, {expected:.2f} s predicted', file=sys.stderr)
    print(json.dumps({'run': RUN, 'steps': asked.steps, 'every': EVERY, 'known': known, 'jobs': rows}, indent=1))


if __name__ == '__main__':
    main()
