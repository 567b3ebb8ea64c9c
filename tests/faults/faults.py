#!/usr/bin/env python3
"""Lets every call fail with which a command writes, one after the other, and looks at what is left.

    faults.py PROGRAM SHIM                   every call of every case; a table
    faults.py PROGRAM SHIM --sample 12       at most so many calls of each kind per case (the test)
    faults.py PROGRAM SHIM simulate train    only these cases
    faults.py PROGRAM SHIM --allocations 0 --kinds new   every single allocation, and nothing else

SHIM is fault_shim.cpp as a library. Each case first runs undisturbed, with the calls counted. Then, for every call of every
kind, it runs again with that call failing: with ENOSPC and EIO, that call alone and that call with all later ones. Afterwards
every file must be the old one or the new one as a whole, the exit status 1 or 2, standard error one line, and no other file
there. Where half of a write is written, or a write is interrupted, the command must succeed. Memory (operator new) fails at
calls evenly spread, or at every one, in one run: at each the process forks, and the child goes on without the memory in a copy
of the folder (copied_run.hpp), on one processor, so that no other thread is lost. Without the right to mount every call takes
a run of its own.
"""
import argparse
import collections
import errno
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

FAILING = {'open': ['ENOSPC', 'EMFILE'], 'write': ['ENOSPC', 'EIO'], 'fsync': ['EIO', 'ENOSPC'], 'rename': ['EIO', 'ENOSPC'],
           'link': ['ENOSPC'], 'mkdir': ['ENOSPC', 'EACCES'], 'close': ['EIO'], 'new': ['ENOMEM']}
PASSING = {'short': ['EIO'], 'interrupted': ['EINTR']}  # what a program must get over
SECONDS = 60

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SIMULATE = 'simulate 1f1b -p 2 -m 3 --cost F=1,comm=1 --memory F=1,B=-1'
TRACES = ' '.join(str(path) for path in sorted(REPOSITORY.glob('tests/sim/traces/data/zb-h1/rank*.json.gz')))
TRAIN = 'train 1f1b -p 2 -m 2 --network gpt-tiny --sequence 8 --samples 1 --steps 2 --executor serial'


class Case:
    """A command line, what stands in its folder before, what it writes. `same` says when two contents are the same file."""

    def __init__(self, command, writes=(), prepare=(), times=False, folder=None, page=False, copies=(), grows=()):
        self.command = command.split()
        self.writes = list(writes)    # files that it writes; each is there before, as an old one
        self.prepare = list(prepare)  # command lines that make its inputs
        self.times = times            # measured times stand in its files, which are then only complete or not
        self.grows = list(grows)      # of those, files that grow while it runs: the first part of the new one is whole, too
        self.folder = folder          # that it makes, with files of any name
        self.copies = dict(copies)    # names in its folder of files of the repository
        self.page = page              # the program needs the explorer's page beside it


CASES = {
    'simulate': Case(SIMULATE + ' --json a.json --html a.html --svg a.svg --csv a.csv --trace a.trace.json --tikz a.tex --pdf a.pdf',
                     ['a.json', 'a.html', 'a.svg', 'a.csv', 'a.trace.json', 'a.tex', 'a.pdf']),
    'simulate --summary': Case(SIMULATE + ' --summary --json a.json', ['a.json']),
    'simulate --chakra': Case('simulate 1f1b -p 2 -m 2 --network gpt-tiny --cluster h100 --chakra a', ['a.0.et', 'a.1.et']),
    'simulate to standard output': Case(SIMULATE),
    'validate': Case('validate 1f1b -p 2 -m 3'),
    'sweep': Case('sweep 1f1b gpipe -p 2,3 -m 2:4 --cost F=1 --csv a.csv --html a.html', ['a.csv', 'a.html']),
    'schedule': Case('schedule zb-h1 -p 2 -m 3 -o a.json', ['a.json']),
    'simulate --save-order': Case('simulate zb-h1 -p 2 -m 3 --cost F=1,I=1,W=1,comm=1 --order ready --save-order a.json --json b.json',
                                  ['a.json', 'b.json']),
    'simulate --job': Case(f'simulate --job {REPOSITORY}/tests/models/launches/data/gpt3_175b.sh --cluster h100 --json a.json --html a.html',
                           ['a.json', 'a.html']),
    'ask': Case(f'ask {REPOSITORY}/tests/fuzz/corpus/request_json/example.json -o a.json', ['a.json']),
    'convert': Case('convert in.json a.csv', ['a.csv'], ['schedule gpipe -p 2 -m 3 -o in.json']),
    'compare': Case('compare x.json y.json --json a.json --html a.html', ['a.json', 'a.html'],
                    [SIMULATE + ' --json x.json', SIMULATE.replace('1f1b', 'gpipe') + ' --json y.json']),
    'trace': Case(f'trace {TRACES} --profile a.json --json b.json --html a.html', ['a.json', 'b.json', 'a.html']),
    'advise': Case(f'advise {TRACES} --save a.csv --json a.json', ['a.csv', 'a.json']),
    'plan': Case('plan --network gpt-tiny --cluster h100-1x2 --batch 4 --simulations 5 --json a.json --html a.html -o s.json',
                 ['a.json', 'a.html', 's.json'], times=True),
    'search': Case('search -p 2 -m 3 --simulations 50 --json a.json -o s.json', ['a.json', 's.json']),
    'campaign': Case('campaign --mtbf 2 --nodes 24 --hours 2 --layouts bamboo-gpt2 --json a.json --html a.html --svg a.svg', ['a.json', 'a.html', 'a.svg']),
    'plan --method': Case('plan --method pipedream --network gpt-tiny --cluster h100-1x2 --json a.json', ['a.json']),
    'plan --jobs': Case(f'plan --jobs {REPOSITORY}/tools/examples/jobs.json --json a.json --svg a.svg', ['a.json', 'a.svg']),
    'stability': Case('stability delay t2 --tau 1,3 --svg a.svg --html a.html --json a.json --csv a.csv',
                      ['a.svg', 'a.html', 'a.json', 'a.csv']),
    'explore': Case('explore a.html', ['a.html'], page=True),
    'device measure': Case('device measure --network gpt-tiny --script made', folder='made'),
    'device import': Case(f'device import {REPOSITORY}/tests/tools/devices/data/rccl-mi300x-1x8.txt --cluster mi300x -o a.json '
                          '--cluster-output b.json', ['a.json', 'b.json']),
    'device fit': Case(f'device fit --rows {REPOSITORY}/tests/faults/steps.csv --cluster a100-1x8 --rounds 1 --constants memory '
                       '-o a.json', ['a.json']),
    'reproduce': Case('reproduce --claims claims.json --json a.json', ['a.json'],
                      copies={'claims.json': 'tests/fuzz/corpus/claims_json/printed_exact.json', 'README.md': 'results/README.md'}),
    'weights export': Case('weights export --network gpt-tiny --seed 7 -o a.safetensors', ['a.safetensors']),
    'schedules': Case('schedules --pages pages', folder='pages'),
    'profile': Case('profile --network gpt-tiny --sequence 8 --samples 1 -p 2 --rounds 2 -o a.json', ['a.json'], times=True),
    'train': Case(TRAIN + ' --json a.json --html a.html --losses a.csv', ['a.json', 'a.html', 'a.csv'], times=True, grows=['a.csv']),
    'train --checkpoint': Case(TRAIN + ' --checkpoint saved --losses a.csv', ['a.csv'], folder='saved', times=True, grows=['a.csv']),
    'demo': Case('demo --network gpt-tiny -m 2 --updates 2 --rounds 1 -o demo', folder='demo', times=True),
}


def is_whole(name, content, other):
    """Whether a file with measured times is complete, as the one of the undisturbed run is."""
    if name.endswith('.json'):
        try:
            return json.loads(content) is not None
        except ValueError:
            return False
    if name.endswith('.html'):
        return content.rstrip().endswith(b'</html>')
    return content.count(b'\n') == other.count(b'\n')


class Runner:
    def __init__(self, program, shim, scratch):
        self.program, self.shim, self.scratch = program, shim, scratch
        self.number = 0
        self.forks = subprocess.run(['unshare', '--mount', 'true'], capture_output=True).returncode == 0

    def run(self, case, fault=None, counts=None):
        """Status, standard error and the folder afterwards. The folder holds old files before."""
        self.number += 1
        folder = self.scratch / str(self.number)
        shutil.copytree(self.scratch / 'prepared', folder)
        environment = {**os.environ, 'LD_PRELOAD': str(self.shim)}
        if fault:
            environment['PLUMB_FAULT'] = fault
        if counts:
            environment['PLUMB_FAULT_COUNTS'] = str(counts)
        try:
            done = subprocess.run([self.program, *case.command], cwd=folder, env=environment, capture_output=True,
                                  timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return 'hang', b'', b'', folder
        return done.returncode, done.stderr, done.stdout, folder

    def run_each(self, case, fault, judge):
        """One run that forks at every call which the fault names; `judge(number, status, stderr, stdout, folder)` sees the end
        of each child."""
        root = self.scratch / 'each' / 'run'
        shutil.rmtree(root.parent, ignore_errors=True)
        shutil.copytree(self.scratch / 'prepared', root / 'folder')
        ask, told = os.pipe()
        answered, answer = os.pipe()
        environment = {**os.environ, 'LD_PRELOAD': str(self.shim), 'PLUMB_FAULT': fault, 'PLUMB_FAULT_FOLDER': str(root),
                       'PLUMB_FAULT_ASK': str(told), 'PLUMB_FAULT_ANSWER': str(answered)}
        processor = {min(os.sched_getaffinity(0))}
        with open(root / 'stdout', 'wb') as stdout, open(root / 'stderr', 'wb') as stderr:
            process = subprocess.Popen([self.program, *case.command], cwd=root / 'folder', env=environment, stdout=stdout,
                                       stderr=stderr, pass_fds=(told, answered),
                                       preexec_fn=lambda: os.sched_setaffinity(0, processor))
        os.close(told)
        os.close(answered)
        with open(ask) as ends:
            for line in ends:
                number, status = (int(word) for word in line.split())
                code = os.waitstatus_to_exitcode(status)
                copy = root.parent / str(number)
                said_before = (root / 'stderr').stat().st_size  # notes of progress, which depend on the time
                judge(number, 'hang' if code == -signal.SIGALRM else code, (copy / 'stderr').read_bytes()[said_before:],
                      (copy / 'stdout').read_bytes(), copy / 'folder')
                shutil.rmtree(copy)
                os.write(answer, b'.')
        os.close(answer)
        if process.wait() != 0:
            sys.exit(f'{" ".join(case.command)}: the run that forks ended with {process.returncode}: '
                     f'{(root / "stderr").read_text()}')

    def add_page(self):
        """Goes on with a copy of the program that has a page of the explorer where installed ones have it."""
        page = self.scratch / 'installed' / 'share' / 'plumbline' / 'explorer.html'
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text('<html>' + 'explorer ' * 100_000 + '</html>')
        self.program = pathlib.Path(shutil.copy(self.program, self.scratch / 'installed'))

    def prepare(self, case):
        folder = self.scratch / 'prepared'
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for command in case.prepare:
            subprocess.run([self.program, *command.split()], cwd=folder, check=True, capture_output=True)
        for name in case.writes:
            (folder / name).write_bytes(b'old\n')
        for name, path in case.copies.items():
            shutil.copy(REPOSITORY / path, folder / name)


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob('*') if path.is_file()}


class Check:
    """Judges one run against the undisturbed one."""

    def __init__(self, runner, case):
        self.runner, self.case = runner, case
        runner.prepare(case)
        counts = runner.scratch / 'counts'
        status, stderr, self.output, folder = runner.run(case, counts=counts)
        if status != 0:
            sys.exit(f'{" ".join(case.command)}: the undisturbed run ended with {status}: {stderr.decode()}')
        self.notes = stderr
        self.old = files_of(runner.scratch / 'prepared')
        self.new = files_of(folder)
        for name in case.writes:
            if self.new[name] == b'old\n':
                sys.exit(f'{" ".join(case.command)}: {name} was not written')
        shutil.rmtree(folder)
        self.counts = {line.split()[0]: int(line.split()[1]) for line in counts.read_text().splitlines()}
        # Checkpoints are judged by what a run makes of them, the same ones once.
        self.resumes = '--checkpoint' in case.command
        self.resumptions = {}

    def same(self, name, content):
        """Whether the content is that of the undisturbed run."""
        if self.case.times and content is not None and name in self.new:
            return is_whole(name, content, self.new[name])
        return content == self.new.get(name)

    def is_old_or_new(self, name, content):
        if content == self.old.get(name):
            return True
        if name in self.case.grows and content is not None and self.new[name].startswith(content):
            return True
        return name in self.new and self.same(name, content)

    def problems(self, kind, status, stderr, output, folder):
        """What is wrong after a failure of this kind, as sentences."""
        found = []
        leftovers = []
        files = files_of(folder)
        in_folder = lambda name: self.case.folder and name.startswith(self.case.folder + '/')
        for name, content in files.items():
            if self.resumes and in_folder(name):
                if '.unfinished' in name or '.part' in name:
                    leftovers.append(f'{name} was left behind')
            elif name not in self.old and name not in self.new:
                found.append(f'{name} was left behind')
            elif not self.is_old_or_new(name, content):
                found.append(f'{name} is neither the old file nor the new one')
        found += [f'{name} is gone' for name in self.old if name not in files]
        if status == 'hang':
            return [*found, 'it did not end']
        if status == 0:
            whole = all(self.resumes and in_folder(name) or self.same(name, files.get(name)) for name in self.new)
            whole = whole and (self.case.times or output == self.output)
            if not whole:
                found.append('exit status 0 although not everything was written')
            elif kind in FAILING and kind != 'new':
                found.append('exit status 0')
        elif kind in PASSING:
            found.append(f'exit status {status}')
        elif status not in (1, 2):
            found.append(f'exit status {status}')
        if status != 0 and status != 'hang':
            said = stderr.decode(errors='replace').splitlines()
            notes = self.notes.decode(errors='replace').splitlines()
            errors = [line for line in said if line not in notes]
            if len(errors) != 1:
                found.append(f'{len(errors)} lines on standard error: {errors[:3]}')
        if self.resumes and not found:
            found += self.resumed(folder)
        # Without memory, or where no folder can be opened, nothing can be removed; then the next run does it.
        if kind not in ('new', 'open') or list(folder.rglob('*unfinished*')):
            found += leftovers
        return found

    def resumed(self, folder):
        """The run goes on from whatever was saved to the same losses."""
        saved = tuple(sorted((name, content) for name, content in files_of(folder).items() if name not in self.case.writes))
        key = hashlib.sha256(repr(saved).encode()).digest()
        if key not in self.resumptions:
            self.resumptions[key] = self.resume(folder)
        return self.resumptions[key]

    def resume(self, folder):
        command = [self.runner.program, *self.case.command, '--resume']
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=SECONDS)
        if done.returncode != 0:
            return [f'--resume ended with {done.returncode}: {done.stderr.decode(errors="replace").strip()}']
        if (folder / 'a.csv').read_bytes() != self.new['a.csv']:
            return ['--resume came to other losses']
        return []

    def faults(self, kind, sample):
        """Texts of the faults of a kind, each for a run of its own."""
        count = self.counts[kind]
        most = min(count, sample or count)
        for number in sorted({1 + round(i * (count - 1) / max(1, most - 1)) for i in range(most)}):
            for error in {**FAILING, **PASSING}[kind]:
                yield f'{kind}:{number}:{getattr(errno, error)}'
            if kind in ('write', 'fsync', 'open') and not sample:
                yield f'{kind}:{number}:{errno.ENOSPC}:on'

    def run(self, kinds, sample, allocations):
        """Failures per kind and problems."""
        injected = collections.Counter()
        problems = []

        def judge(kind, fault, *end):
            injected[kind] += 1
            problems.extend((fault, problem) for problem in self.problems(kind, *end))

        for kind in kinds:
            if kind == 'new' and self.runner.forks:
                every = max(1, self.counts[kind] // allocations if allocations else 1)
                self.runner.run_each(self.case, f'new:{every}:{errno.ENOMEM}:each',
                                     lambda number, *end: judge('new', f'new:{number}:{errno.ENOMEM}', *end))
                continue
            for fault in self.faults(kind, allocations if kind == 'new' else sample):
                status, stderr, output, folder = self.runner.run(self.case, fault)
                judge(kind, fault, status, stderr, output, folder)
                shutil.rmtree(folder, ignore_errors=True)
        return injected, problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0], epilog=__doc__.split('\n', 2)[2],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('program', type=pathlib.Path)
    parser.add_argument('shim', type=pathlib.Path)
    parser.add_argument('cases', nargs='*', metavar='CASE', help=', '.join(CASES))
    parser.add_argument('--sample', type=int, default=0, metavar='N', help='calls of each kind per case at most')
    parser.add_argument('--allocations', type=int, default=400, metavar='N', help='about so many of each case; 0 for all of them')
    parser.add_argument('--kinds', nargs='+', choices=[*FAILING, *PASSING], default=[*FAILING, *PASSING], help='of calls')
    arguments = parser.parse_intermixed_args()
    kinds = arguments.kinds
    print('| command | ' + ' | '.join(kinds) + ' | problems |\n|---' + '|---:' * (len(kinds) + 1) + '|', flush=True)
    failed = []
    total = collections.Counter()
    with tempfile.TemporaryDirectory(prefix='plumbline-faults-') as scratch:
        for name in arguments.cases or CASES:
            started = time.monotonic()
            runner = Runner(arguments.program.resolve(), arguments.shim.resolve(), pathlib.Path(scratch) / 'runs')
            if CASES[name].page:
                runner.add_page()
            check = Check(runner, CASES[name])
            injected, problems = check.run(kinds, arguments.sample, arguments.allocations)
            total.update(injected)
            failed += [(name, *problem) for problem in problems]
            cells = [f'{injected[kind]} of {check.counts[kind]}' if kind == 'new' else str(injected[kind]) for kind in kinds]
            print(f'| {name} | ' + ' | '.join(cells) + f' | {len(problems)} |', flush=True)
            print(f'{name}: {time.monotonic() - started:.0f} s', file=sys.stderr, flush=True)
    print(f'| all {sum(total.values())} | ' + ' | '.join(str(total[kind]) for kind in kinds) + f' | {len(failed)} |')
    for name, fault, problem in failed[:200]:
        print(f'{name}: {fault}: {problem}', file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
