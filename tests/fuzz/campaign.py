#!/usr/bin/env python3
"""Runs the fuzzers side by side and says what they did: one row per target.

    tests/fuzz/campaign.py --seconds 60                 all targets together, a minute on all cores
    tests/fuzz/campaign.py --each 20000                 so many executions of every target, the same ones every time
    tests/fuzz/campaign.py --executions 1e8 --jobs 1    until there were so many, on one core
    tests/fuzz/campaign.py --seconds 600 json partition only these
    tests/fuzz/campaign.py --keep                       merge and minimise what was found into tests/fuzz/grown
    tests/fuzz/campaign.py --table                      only the table of everything since the last --fresh

The fuzzers come from `cmake --preset fuzz && cmake --build --preset fuzz`. What a campaign finds stays in the build folder
(found/<target>), and the next one goes on from it; what stops a target is in found/<target>.failures. `--each` begins anew every
time, in the folder `each` beside it: it counts and judges its own run only. The exit status is 1 when a target crashed, hung or
took too much memory.
"""
import argparse
import collections
import concurrent.futures
import datetime
import gzip
import io
import json
import os
import pathlib
import platform
import re
import resource
import shutil
import subprocess
import sys
import tarfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
CORPUS = HERE / 'corpus'
GROWN = HERE / 'grown'
DICTIONARIES = HERE / 'dictionaries'

# Longest input in bytes where it is not the default. What is short is tried more often.
DEFAULT_LENGTH = 1024
LONGEST = {'action_text': 48, 'partition': 64, 'cluster_name': 48, 'abstract_costs': 160, 'option_values': 64,
           'claim_formula': 128, 'methods_text': 128, 'deepspeed_text': 512, 'torch_csv': 384, 'schedule_text': 384,
           'schedule_run': 256, 'megatron_options': 512, 'zero_bubble_table': 384, 'train_options': 256,
           'cost_options': 256, 'pair_data': 256, 'json': 256, 'image_data': 7000,
           'checkpoint_state': 4096, 'nsys': 8192, 'timer_log': 512, 'network_json': 2048, 'cluster_json': 2048,
           'device_measurements': 4096, 'ping_pong': 256, 'stage_times': 256, 'product_table': 512, 'attention_table': 256, 'gzip': 512,
           'step_recipe': 2048, 'shown_text': 96, 'node_trace': 256, 'phase_rules': 512}
SECONDS_PER_INPUT = 10  # of processor time; longer is a hang
MEBIBYTES = 2048
MEBIBYTES_AT_ONCE = 512  # a single allocation
KEPT_BYTES = 60_000      # of a target's grown corpus, before compression
FAILURES = {'crash': 'crashes', 'leak': 'crashes', 'timeout': 'hangs', 'oom': 'memory'}


def fuzzers(build):
    """The executables by name of their target."""
    found = sorted((build / 'tests' / 'fuzz').glob('*_fuzz'))
    return {path.name.removesuffix('_fuzz'): path for path in found if os.access(path, os.X_OK)}


def unpack(name, folder):
    """The grown corpus of the tree, once, into a folder of the build."""
    archive = GROWN / f'{name}.tar.gz'
    folder.mkdir(parents=True, exist_ok=True)
    if archive.exists():
        with tarfile.open(archive) as tar:
            for member in tar.getmembers():
                (folder / pathlib.PurePath(member.name).name).write_bytes(tar.extractfile(member).read())


class Campaign:
    def __init__(self, build, names, folder):
        self.build = build
        self.found = build / folder
        self.file = self.found / 'campaign.json'
        self.fuzzers = fuzzers(build)
        unknown = [name for name in names if name not in self.fuzzers]
        if unknown or not self.fuzzers:
            sys.exit(f'error: no fuzzer {" ".join(unknown)} in {build}; expected one of those that '
                     f'`cmake --build --preset fuzz` has built')
        self.names = names or list(self.fuzzers)
        self.found.mkdir(parents=True, exist_ok=True)
        self.rows = json.loads(self.file.read_text()) if self.file.exists() else {}
        self.lock = threading.Lock()

    def row(self, name):
        return self.rows.setdefault(name, {'executions': 0, 'seconds': 0.0, 'edges': 0, 'features': 0, 'inputs': 0})

    def failures(self, name):
        """How many inputs stopped the target, by kind."""
        folder = self.found / f'{name}.failures'
        kinds = [path.name.split('-')[0] for path in folder.glob('*-*')] if folder.exists() else []
        return collections.Counter(FAILURES[kind] for kind in kinds if kind in FAILURES)

    def command(self, name):
        return [str(self.fuzzers[name]), f'-max_len={LONGEST.get(name, DEFAULT_LENGTH)}', f'-timeout={6 * SECONDS_PER_INPUT}',
                f'-rss_limit_mb={MEBIBYTES}', f'-malloc_limit_mb={MEBIBYTES_AT_ONCE}', '-print_final_stats=1']

    def environment(self):
        options = 'quarantine_size_mb=16:malloc_context_size=6:detect_stack_use_after_return=0'
        return {**os.environ, 'ASAN_OPTIONS': options, 'UBSAN_OPTIONS': 'print_stacktrace=1'}

    def slice(self, name, seconds):
        """A target for so long, from everything that was found."""
        folder = self.found / name
        if not folder.exists():
            unpack(name, folder)
        self.run(name, f'-max_total_time={seconds}', str(folder), str(CORPUS / name))

    def run(self, name, *arguments):
        """Runs a target with these arguments of libFuzzer, notes what it did and keeps what stopped it."""
        failures = self.found / f'{name}.failures'
        failures.mkdir(exist_ok=True)
        dictionary = DICTIONARIES / f'{name}.dict'
        command = [*self.command(name), f'-artifact_prefix={failures}/',
                   *([f'-dict={dictionary}'] if dictionary.exists() else []), *arguments]
        started = time.monotonic()
        done = subprocess.run(command, env=self.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              errors='replace')
        self.note(name, done.stderr, time.monotonic() - started)
        for hung in failures.glob('timeout-*'):
            if self.ends(name, hung):  # a busy machine was slow, the input is not
                hung.rename(hung.with_name(f'starved.{hung.name}'))
        if done.returncode != 0 and (self.failures(name)):
            (failures / f'log.{time.time_ns()}').write_text(done.stderr)
            print(f'{name}: stopped with status {done.returncode}, see {failures}', flush=True)

    def ends(self, name, path):
        """Whether the target needs no longer than is allowed, by processor time, for one input."""
        limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (SECONDS_PER_INPUT, SECONDS_PER_INPUT))
        done = subprocess.run([*self.command(name), '-timeout=0', str(path)], env=self.environment(), preexec_fn=limit,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return done.returncode == 0

    def note(self, name, text, seconds):
        executions = re.search(r'stat::number_of_executed_units: *(\d+)', text)
        states = re.findall(r'^#(\d+)\s.*cov: (\d+) ft: (\d+) corp: (\d+)', text, re.M)
        with self.lock:
            row = self.row(name)
            row['seconds'] += seconds
            row['executions'] += int(executions[1]) if executions else int(states[-1][0]) if states else 0
            if states:
                row['edges'], row['features'], row['inputs'] = (int(number) for number in states[-1][1:])
            self.file.write_text(json.dumps(self.rows, indent=1))

    def total(self):
        return sum(self.row(name)['executions'] for name in self.names)

    def share(self, name):
        """How much of its time a target has had: a fast one is due for up to four times as much as an average one, a slow
        one for a quarter."""
        row = self.row(name)
        spent = [self.row(other) for other in self.names]
        average = sum(row['executions'] for row in spent) / max(1, sum(row['seconds'] for row in spent))
        rate = row['executions'] / max(1, row['seconds'])
        return row['seconds'] / min(4, max(0.25, rate / average if average else 1))

    def run_all(self, jobs, seconds, executions):
        """Slices of the target that had the least share, until time or executions are spent and every target has had
        one."""
        end = time.monotonic() + seconds if seconds else None
        per_slice = max(1, min(60, int(seconds * jobs / len(self.names)))) if seconds else 30
        busy, tried = set(), set()

        def spent():
            out_of_time = end is not None and time.monotonic() >= end
            return out_of_time or (executions is not None and self.total() >= executions)

        def work():
            while not spent() or len(tried) < len(self.names):
                with self.lock:
                    left = [name for name in self.names if name not in busy]
                    name = min([name for name in left if name not in tried] or left, key=self.share)
                    busy.add(name)
                    tried.add(name)
                self.slice(name, per_slice)
                with self.lock:
                    busy.discard(name)

        jobs = min(jobs, len(self.names))
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for worker in [pool.submit(work) for _ in range(jobs)]:
                worker.result()

    def run_each(self, jobs, executions):
        """Every target for so many executions, from the inputs of the tree and a fixed seed: what passes in one place passes
        in another one. What earlier campaigns found takes no part."""
        def one(name):
            kept = self.found / f'{name}.kept'
            unpack(name, kept)
            inputs = [*sorted(kept.iterdir()), *sorted((CORPUS / name).iterdir())]
            listed = self.found / f'{name}.inputs'
            listed.write_text(','.join(map(str, inputs)))  # a folder's order is not the same everywhere
            self.run(name, f'-runs={executions}', '-seed=1', f'-seed_inputs=@{listed}')

        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            list(pool.map(one, self.names))

    def table(self):
        lines = ['| target | executions | per second | edges | features | inputs | crashes | hangs | too much memory |',
                 '|---|---:|---:|---:|---:|---:|---:|---:|---:|']
        total = collections.Counter()
        for name in self.names:
            row, failures = self.row(name), self.failures(name)
            rate = row['executions'] / row['seconds'] if row['seconds'] else 0
            lines.append(f'| {name} | {row["executions"]:,} | {rate:,.0f} | {row["edges"]:,} | {row["features"]:,} | '
                         f'{row["inputs"]:,} | {failures["crashes"]} | {failures["hangs"]} | {failures["memory"]} |')
            total.update({'executions': row['executions'], 'seconds': row['seconds'], 'inputs': row['inputs'], **failures})
        rate = total['executions'] / total['seconds'] if total['seconds'] else 0
        lines.append(f'| all {len(self.names)} | {total["executions"]:,} | {rate:,.0f} | | | {total["inputs"]:,} | '
                     f'{total["crashes"]} | {total["hangs"]} | {total["memory"]} |')
        where = f'{datetime.date.today()}, {platform.machine()}, {os.cpu_count()} cores, {total["seconds"] / 3600:.1f} core hours'
        return '\n'.join(lines) + f'\n\n{where}\n'

    def failed(self):
        return sum(sum(self.failures(name).values()) for name in self.names)

    def keep(self):
        """Merges everything into the tree: the inputs that reach something the shorter ones do not."""
        GROWN.mkdir(exist_ok=True)
        for name in self.names:
            merged = self.found / f'{name}.merged'
            shutil.rmtree(merged, ignore_errors=True)
            merged.mkdir()
            unpack(name, self.found / name)
            # What the unit tests have anyway comes first and is left out afterwards.
            for path in (CORPUS / name).iterdir():
                shutil.copy(path, merged / f'own.{path.name}')
            subprocess.run([*self.command(name), '-merge=1', str(merged), str(self.found / name)], env=self.environment(),
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
            inputs = sorted((path for path in merged.iterdir() if not path.name.startswith('own.')),
                            key=lambda path: (path.stat().st_size, path.name))
            pack(GROWN / f'{name}.tar.gz', inputs)
            shutil.rmtree(merged)


def pack(archive, inputs):
    """The shortest inputs; the same bytes for the same inputs."""
    buffer = io.BytesIO()
    size = 0
    with tarfile.open(fileobj=buffer, mode='w', format=tarfile.USTAR_FORMAT) as tar:
        for path in inputs:
            data = path.read_bytes()
            size += len(data)
            if size > KEPT_BYTES:
                break
            member = tarfile.TarInfo(path.name[:12])
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    with open(archive, 'wb') as file, gzip.GzipFile(filename='', mode='wb', fileobj=file, mtime=0) as packed:
        packed.write(buffer.getvalue())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0], epilog=__doc__.split('\n', 2)[2],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('targets', nargs='*', metavar='TARGET')
    parser.add_argument('--build', type=pathlib.Path, default=HERE.parent.parent / 'build' / 'fuzz', help='build folder')
    parser.add_argument('--seconds', type=float, help='of wall time, for all targets together')
    parser.add_argument('--executions', type=float, help='of all targets together, earlier campaigns included')
    parser.add_argument('--each', type=float, help='executions of every target, with a fixed seed and from the inputs of the tree')
    parser.add_argument('--jobs', type=int, default=os.cpu_count(), help='targets at once')
    parser.add_argument('--fresh', action='store_true', help='forget counts and findings of earlier campaigns')
    parser.add_argument('--keep', action='store_true', help='merge into tests/fuzz/grown afterwards')
    parser.add_argument('--table', action='store_true', help='only print the table')
    arguments = parser.parse_args()
    folder = 'each' if arguments.each else 'found'
    if arguments.fresh or arguments.each:
        shutil.rmtree(arguments.build / folder, ignore_errors=True)
    campaign = Campaign(arguments.build, arguments.targets, folder)
    if arguments.each:
        campaign.run_each(arguments.jobs, int(arguments.each))
    elif not arguments.table and (arguments.seconds or arguments.executions):
        campaign.run_all(arguments.jobs, arguments.seconds, arguments.executions)
    if arguments.keep:
        campaign.keep()
    print(campaign.table())
    sys.exit(1 if campaign.failed() else 0)


if __name__ == '__main__':
    main()
