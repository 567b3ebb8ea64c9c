#!/usr/bin/env python3
"""Gives every reader short documents that ask for much, and holds the program to memory and processor time.

    bombs.py PROGRAM SMALL_STACK                     the quick ones (the test)
    bombs.py PROGRAM SMALL_STACK --all               all; a table
    bombs.py PROGRAM SMALL_STACK --all --write FILE  the table as a page
    bombs.py PROGRAM SMALL_STACK --all trace rules   only these readers; --write replaces their rows

Each document goes through the program twice: as it is, and with SMALL_STACK preloaded (small_stack.cpp), which runs `main` in a
thread of 512 KiB stack. It must end by itself with a status of the program, within the bounds of the bomb, with few bytes on
standard error. Fuzzers see none of this: their inputs are short, and their sanitizers do not look into SQLite, toml++, yaml-cpp
and zlib.
"""
import argparse
import collections
import copy
import datetime
import gzip
import json
import os
import pathlib
import platform
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
CORPUS = REPOSITORY / 'tests' / 'fuzz' / 'corpus'
DEEP = 100_000
MANY = 1_000_000
LONG = 50_000_000
SECONDS = 20      # of processor time, where a bomb says nothing else
MEBIBYTES = 1024  # of memory in use at once, likewise
# Address space beyond the memory: code, and the stacks and pools of a thread for each processor.
SPARE_MEBIBYTES = 1024 + 128 * (os.cpu_count() or 1)
WALL_SECONDS = 300      # of waiting, for what takes no processor time
LONGEST_ERROR = 16_384  # bytes on standard error, where mistakes are told one by one
LONGEST_WORD = 80       # of them without a blank: a value that is quoted is cut
UNREAD = ('unknown command', 'unrecognised option', "unknown option '", 'cannot open', 'is missing, expected -')

Bomb = collections.namedtuple('Bomb', 'reader name make command seconds mebibytes quick')
Run = collections.namedtuple('Run', 'problem seconds mebibytes said')
BOMBS = []


def bomb(reader, name, make, command, seconds=SECONDS, mebibytes=MEBIBYTES, quick=False):
    """`make` is the text of the file x, or writes files into the folder that it is given. `command` names them."""
    BOMBS.append(Bomb(reader, name, make, command, seconds, mebibytes, quick))


# --- JSON: every reader with the same kinds, in a real document of its own ---

PRICED = 'simulate 1f1b -p 2 -m 2 --summary --cluster h100 --network '
JSON_READERS = {
    'schedule': ('validate x.json', 'schedule_json/interleaved.json'),
    'network': (PRICED + 'x.json', 'network_json/llama-tiny.json'),
    'Hugging Face configuration': (PRICED + 'x.json', 'model_config/llama.json'),
    'published graph': (PRICED + 'x.json', 'published_network/piper.json'),
    'cluster': ('simulate 1f1b -p 2 -m 2 --summary --network gpt-tiny --cluster x.json', 'cluster_json/every_key.json'),
    'kernel rates': (PRICED + 'gpt-tiny --rates x.json', 'kernel_rates_json/a100.json'),
    'profile': ('simulate 1f1b -p 2 -m 2 --summary --profile x.json', 'profile_json/every_key.json'),
    'timeline': ('compare x.json x.json', 'timeline_json/full.json'),
    'trace': ('trace x.json', 'kineto/small.json'),
    'dumps per rank': ('trace x.json', 'pp_dumps/primus.json'),
    'request': ('ask x.json', 'request_json/example.json'),
    'jobs': ('plan --jobs x.json', 'job_list_json/measured.json'),
    'layouts': ('campaign --mtbf 2 --nodes 24 --hours 2 --layouts x.json', 'layouts_json/two.json'),
    'nodes': ('campaign --trace x.json --layouts bamboo-gpt2', 'node_trace/counts.json'),
    'launch JSON': ('simulate --cluster h100 --network gpt-tiny --job x.json', 'launch_json/zero3'),
    'timings': ('device import x.json -o -', 'device_measurements/timings.json'),
}


def places(value, kind, path=()):
    """The paths of values of a type in a document, three levels deep; of a list only its first item is looked at."""
    if isinstance(value, kind) and path:
        yield path
    items = value.items() if isinstance(value, dict) else list(enumerate(value))[:1] if isinstance(value, list) else ()
    for key, inner in items:
        if len(path) < 3:
            yield from places(inner, kind, (*path, key))


def at(document, path):
    for key in path:
        document = document[key]
    return document


def with_value(document, path, value):
    changed = copy.deepcopy(document)
    at(changed, path[:-1])[path[-1]] = value
    return changed


def path_text(path):
    return '.'.join(map(str, path))


def repeated(document, path):
    """The list with its items again and again; a large one fewer times, so that texts have at most 64 MB."""
    items = at(document, path) or [0]
    each = max(1, len(json.dumps(items)) // len(items))
    return with_value(document, path, (items * (MANY // len(items) + 1))[:min(MANY, 60_000_000 // each)])


def beside(prepare, name, make):
    """`prepare` fills the folder in which the file `name` then gets the text that `make` gives."""
    def both(folder):
        prepare(folder)
        (folder / name).write_bytes(make())
    return both


def add_json(reader, command, example, wrap=lambda make: make):
    """`wrap` puts other files beside the document."""
    document = json.loads((CORPUS / example).read_text())
    text = lambda value: json.dumps(value).encode()
    add = lambda name, make, **bounds: bomb(reader, name, wrap(make), command, **bounds)
    add('100,000 arrays in each other', lambda: b'[' * DEEP + b']' * DEEP, quick=True)
    add('100,000 objects in each other', lambda: b'{"a":' * DEEP + b'1' + b'}' * DEEP)
    if not isinstance(document, dict):
        return
    first = next(iter(document))
    add(f'100,000 arrays in each other as {first}', lambda: text({**document, first: 'BOMB'}).replace(b'"BOMB"', b'[' * DEEP + b']' * DEEP))
    add('1,000,000 keys', lambda: text({**document, **{f'k{i}': 0 for i in range(MANY)}}))
    for path in places(document, list):
        add(f'1,000,000 items of {path_text(path)}', lambda path=path: text(repeated(document, path)), seconds=120, mebibytes=3072)
    for path in places(document, str):
        add(f'{path_text(path)} of 50 MB', lambda path=path: text(with_value(document, path, 'x' * LONG)), mebibytes=2048)


for name, (words, document) in JSON_READERS.items():
    add_json(name, words, document)

# --- Rules and lines of schedules ---

RULES = 'schedule x.rules -p 2 -m 4'
bomb('rules', '100,000 blocks in each other',
     lambda: ''.join(f'for a{i} in 1 {{\n' for i in range(DEEP)).encode() + b'm: F0\n' + b'}\n' * DEEP, RULES, quick=True)
bomb('rules', '30,000 blocks in each other (S2)',
     lambda: ''.join(f'for a{i} in 1 {{\n' for i in range(30_000)).encode() + b'm: F0\n' + b'}\n' * 30_000, RULES, quick=True)
bomb('rules', '100,000 parentheses in each other', lambda: b'for a in ' + b'(' * DEEP + b'1' + b')' * DEEP + b' {\n}\n', RULES,
     quick=True)
bomb('rules', '100,000 signs before a number', lambda: b'for a in ' + b'-' * DEEP + b'1 {\n}\n', RULES)
bomb('rules', '400,000 lines', lambda: b'm: F0\n' * 400_000, RULES)
bomb('rules', 'loops of 2^31 in each other', lambda: ''.join(f'for {a} in 0..2147483647 {{\n' for a in 'abc').encode() + b'm: F0\n}\n}\n}\n',
     RULES)
bomb('rules', 'a name of 4 MB', lambda: b'for ' + b'x' * 4_000_000 + b' in 1 {\n}\n', RULES)
bomb('schedule as lines', '1,000,000 passes of a device', lambda: b'd0: ' + b'0F0 ' * MANY, 'validate x.txt')
bomb('schedule as lines', '1,000,000 devices', lambda: b''.join(b'd%d: 0F0\n' % i for i in range(MANY)), 'validate x.txt')
bomb('schedule as lines', 'a pass of 50 MB', lambda: b'd0: 0F' + b'0' * LONG, 'validate x.txt')
bomb('schedule as lines', 'device 2,000,000,000', lambda: b'd2000000000: 0F0 0B0\n', 'validate x.txt', quick=True)
bomb('schedule as lines', 'microbatch 2,000,000,000', lambda: b'd0: 0F2000000000 0B2000000000\n', 'validate x.txt', quick=True)
bomb('schedule as CSV', '1,000,000 passes of a rank', lambda: b','.join([b'0F0'] * MANY), 'validate x.csv')
bomb('schedule as CSV', '1,000,000 ranks', lambda: b'0F0,0B0\n' * MANY, 'validate x.csv')
bomb('schedule as CSV', 'a cell of 50 MB', lambda: b'0F' + b'0' * LONG, 'validate x.csv')

# --- Launch files ---

JOB = 'simulate --cluster h100-1x8 --job '
bomb('TOML', 'a header of 50,000 parts (S1)', lambda: b'[' + b'.'.join([b'a'] * 50_000) + b']\n', JOB + 'x.toml', quick=True)
bomb('TOML', 'a key of 100,000 parts', lambda: b'.'.join([b'a'] * DEEP) + b' = 1\n', JOB + 'x.toml', quick=True)
bomb('TOML', '100,000 arrays in each other', lambda: b'a = ' + b'[' * DEEP + b']' * DEEP + b'\n', JOB + 'x.toml', quick=True)
bomb('TOML', '100,000 inline tables in each other', lambda: b'a = ' + b'{a = ' * DEEP + b'1' + b'}' * DEEP, JOB + 'x.toml', quick=True)
bomb('TOML', 'headers of 255 parts, 7,000 times', lambda: b''.join(b'[' + b'.'.join([b'b%d' % i] + [b'a'] * 254) + b']\n' for i in range(7_000)),
     JOB + 'x.toml', mebibytes=2048)
bomb('TOML', '300,000 keys', lambda: b''.join(b'a%d = 1\n' % i for i in range(300_000)), JOB + 'x.toml')
bomb('TOML', '1,000,000 items', lambda: b'a = [' + b'1,' * MANY + b'1]\n', JOB + 'x.toml')
bomb('TOML', 'a name of 4 MB', lambda: b'x' * 4_000_000 + b' = 1\n', JOB + 'x.toml')
bomb('YAML', '100,000 arrays in each other', lambda: b'a: ' + b'[' * DEEP + b']' * DEEP, JOB + 'x.yaml', quick=True)
bomb('YAML', '2,000 blocks in each other', lambda: b''.join(b' ' * i + b'a:\n' for i in range(2_000)), JOB + 'x.yaml', quick=True)
bomb('YAML', '100,000 dashes in a line', lambda: b'- ' * DEEP + b'1\n', JOB + 'x.yaml', quick=True)
bomb('YAML', 'a billion laughs', lambda: b'a0: &a0 [x, x]\n' + b''.join(b'a%d: &a%d [%s]\n' % (i, i, b', '.join([b'*a%d' % (i - 1)] * 9)) for i in range(1, 12)),
     JOB + 'x.yaml', quick=True)
bomb('YAML', 'an anchor in itself', lambda: b'a: &a {b: *a}\n', JOB + 'x.yaml', quick=True)
bomb('YAML', 'a name of 1 MB, 1,000 times', lambda: b'a: &a "' + b'x' * MANY + b'"\nb: [' + b'*a, ' * 1_000 + b'1]\n', JOB + 'x.yaml', quick=True)
bomb('YAML', 'a list of 50,000 items, 1,000 times',
     lambda: b'a: &a [' + b'1,' * 50_000 + b'1]\n' + b''.join(b'b%d: *a\n' % i for i in range(1_000)), JOB + 'x.yaml', quick=True)
bomb('YAML', 'a value of 1 MB that 1,000 references name',
     lambda: b'a: ' + b'x' * MANY + b'\n' + b''.join(b'b%d: ${a}\n' % i for i in range(1_000)), JOB + 'x.yaml', quick=True)
bomb('YAML', '1,000,000 items', lambda: b'a: [' + b'1,' * MANY + b'1]\n', JOB + 'x.yaml')
bomb('YAML', '300,000 keys', lambda: b''.join(b'a%d: 1\n' % i for i in range(300_000)), JOB + 'x.yaml')
bomb('YAML', '200,000 anchors', lambda: b''.join(b'- &a%d 1\n' % i for i in range(200_000)), JOB + 'x.yaml')


def script(name, make, **more):
    bomb('launch script', name, make, JOB + 'x.sh', **more)


script('100,000 substitutions in each other', lambda: b'A=' + b'$(' * DEEP + b'x' + b')' * DEEP + b'\n', quick=True)
script('100,000 backquotes', lambda: b'A=' + b'`' * DEEP + b'\n')
script('100,000 defaults in each other', lambda: b'A=' + b'${A:-' * DEEP + b'1' + b'}' * DEEP + b'\n', quick=True)
script('100,000 parentheses in each other', lambda: b'A=$((' + b'(' * DEEP + b'1' + b')' * DEEP + b'))\n', quick=True)
script('100,000 conditions in each other', lambda: b'if true; then\n' * DEEP + b'fi\n' * DEEP, quick=True)
script('100,000 functions in each other', lambda: b'f() {\n' * DEEP + b'}\n' * DEEP, quick=True)
script('100,000 cases in each other', lambda: b'case a in a)\n' * DEEP + b';; esac\n' * DEEP, quick=True)
script('a function that calls itself', lambda: b'f() { f; f; }\nf\n', quick=True)
script('a script that reads itself', lambda: b'source ./x.sh\nsource ./x.sh\n', quick=True)
script('eval in eval', lambda: b'A="eval \\$A; eval \\$A"\neval $A\n', quick=True)
script('a range of a thousand million', lambda: b'for i in {1..1000000000}; do A=$i; done\n', quick=True)
script('ranges in a word, multiplied', lambda: b'A={1..999}{1..999}{1..999}{1..999}\n', quick=True)
script('a text that doubles 100 times', lambda: b'A=xxxxxxxx\n' + b'A="$A$A"\n' * 100, quick=True)
script('a text of 1 MB, 1,000 times', lambda: b'A=' + b'x' * MANY + b'\n' + b'B="$B$A"\n' * 1_000)
script('an array of 1,000,000 words', lambda: b'A=(' + b'a ' * MANY + b')\n')
script('1,000,000 lines', lambda: b'A=1\n' * MANY)
script('a line of 50 MB', lambda: b'A=' + b'x' * LONG + b'\n')
script('1,000,000 options', lambda: b'python pretrain_gpt.py ' + b'--num-layers 1 ' * MANY + b'\n')
script('a loop without an end', lambda: b'while true; do A=1; done\n', quick=True)
script('a pattern with many stars', lambda: b'A=' + b'a' * 5_000 + b'\nB=${A//' + b'*a' * 100 + b'b/}\n')

SIZES = '--hidden-size 64 --num-attention-heads 4 --seq-length 16 --vocab-size 100 --micro-batch-size 1 --global-batch-size 8'


def launched(name, options, **more):
    """A run of Megatron-LM with `options`: a text, or a function that gives one."""
    script(f'Megatron-LM with {name}', lambda: f'torchrun pretrain_gpt.py {SIZES} {options() if callable(options) else options}\n'.encode(), **more)


launched('2,000,000,000 layers', '--num-layers 2000000000', quick=True)
launched('2,000,000,000 stages', '--num-layers 4 --pipeline-model-parallel-size 2000000000', quick=True)
launched('2,000,000,000 experts', '--num-layers 4 --num-experts 2000000000', quick=True)
launched('a batch of 2^62', '--num-layers 4 --global-batch-size 4611686018427387904', quick=True)
launched('2,000,000,000 further tokens', '--num-layers 4 --mtp-num-layers 2000000000', quick=True)
launched('a layout of 1,000,000,000 layers', '--num-layers 4 --pipeline-model-parallel-size 4 --pipeline-model-parallel-layout "Et*1000000000|L"', quick=True)
launched('a layout in 100,000 parentheses',
         lambda: '--num-layers 4 --pipeline-model-parallel-size 4 --pipeline-model-parallel-layout "' + '(' * DEEP + 't' + ')*2' * DEEP + '"')
launched('a layout of 1 MB', lambda: '--num-layers 4 --pipeline-model-parallel-size 4 --pipeline-model-parallel-layout "E' + 't|' * 500_000 + 'L"')
launched('a layer pattern of 1 MB', lambda: '--hybrid-layer-pattern ' + 'M' * MANY)
launched('experts in every one of 1,000,000,000 layers', '--num-layers 4 --num-experts 4 --moe-layer-freq "([1]*1000000000)"', quick=True)
launched('a list of 1,000,000 layers', lambda: '--num-layers 4 --num-experts 4 --moe-layer-freq "[' + '1,' * MANY + '1]"')
launched('a value of 1 MB', lambda: '--num-layers ' + '1' * MANY)

# --- Options of Megatron-LM's pipeline as a schedule ---


def options(name, make, **more):
    bomb('Megatron-LM options', name, make, 'validate x.megatron', **more)


SIZE = b'--pipeline-model-parallel-size 4\n--micro-batch-size 1\n--global-batch-size 8\n'
options('2,000,000,000 devices', lambda: b'--pipeline-model-parallel-size 2000000000\n--micro-batch-size 1\n--global-batch-size 8\n', quick=True)
options('2,000,000,000 microbatches', lambda: b'--pipeline-model-parallel-size 4\n--micro-batch-size 1\n--global-batch-size 2000000000\n', quick=True)
options('2,000,000,000 stages of a device', lambda: SIZE + b'--num-virtual-stages-per-pipeline-rank 2000000000\n', quick=True)
options('a layout of 1,000,000,000 layers', lambda: SIZE + b'--pipeline-model-parallel-layout "Et*1000000000|L"\n', quick=True)
options('a layout in 100,000 parentheses', lambda: SIZE + b'--pipeline-model-parallel-layout "' + b'(' * DEEP + b't' + b')*2' * DEEP + b'"\n', quick=True)
options('a layout of 50 MB', lambda: SIZE + b'--pipeline-model-parallel-layout "E' + b't|' * (LONG // 2) + b'L"\n')
options('a name of 50 MB', lambda: b'--' + b'x' * LONG + b' 1\n')
options('a value of 50 MB', lambda: b'--pipeline-model-parallel-size ' + b'1' * LONG + b'\n')
options('1,000,000 options', lambda: SIZE * (MANY // 3))
options('1,000,000 continued lines', lambda: b'--micro-batch-size 1 \\\n' * MANY)


def pipe_beside(folder):
    os.mkfifo(folder / 'pipe')
    (folder / 'x.sh').write_text('source ./pipe\n')


def pipe_in_folder(folder):
    os.mkfifo(folder / 'rank0.json')


def pipe_as_order(folder):
    os.mkfifo(folder / 'pipe')
    text = (CORPUS / 'launch_toml' / 'llama').read_text()
    (folder / 'x.toml').write_text(text.replace('[parallelism]', '[parallelism]\npipeline_parallel_schedule_csv = "pipe"', 1))


bomb('launch script', 'names a pipe (S9)', pipe_beside, JOB + 'x.sh', quick=True)
bomb('TOML', 'names a pipe', pipe_as_order, JOB + 'x.toml', quick=True)
bomb('trace', 'a folder with a pipe', pipe_in_folder, 'trace .', quick=True)

# --- Traces: SQLite and gzip ---

RANGES = 'CREATE TABLE NVTX_EVENTS(start INT,end INT,globalTid INT,textId INT,text TEXT)'
NAMES = 'CREATE TABLE StringIds(id INTEGER PRIMARY KEY,value TEXT)'


def database(*statements):
    """Each a statement, or a function that gives a statement and its rows."""
    def make(folder):
        connection = sqlite3.connect(folder / 'x.sqlite')
        for given in statements:
            statement = given if isinstance(given, str) else given()
            (connection.execute if isinstance(statement, str) else lambda pair: connection.executemany(*pair))(statement)
        connection.commit()
        connection.close()
    return make


def ranges(count, text=None):
    return lambda: ('INSERT INTO NVTX_EVENTS VALUES(?,?,?,?,?)',
                    ((i, i + 1, 1 << 24 | 5, 1, text * LONG if text else None) for i in range(count)))


def names(count, name=lambda i: 'PP:0F0', id=lambda i: i):
    return lambda: ('INSERT INTO StringIds VALUES(?,?)', ((id(i), name(i)) for i in range(count)))


def computed():
    table = RANGES.replace('text TEXT', "text TEXT AS (printf('%.*c',9,'x')) VIRTUAL")
    rows = lambda: ('INSERT INTO NVTX_EVENTS VALUES(?,?,?,?)', [(i, i + 1, 1 << 24 | 5, 1) for i in range(12)])
    grow = "UPDATE sqlite_master SET sql = replace(sql, ',9,', ',900000000,')"  # who inserts computes it, too
    return database(table, NAMES, rows, 'PRAGMA writable_schema = ON', grow)


SQLITE = 'trace x.sqlite'
bomb('trace in SQLite', 'a computed column of 900 MB (S3)', computed(), SQLITE, quick=True)
bomb('trace in SQLite', 'a name of 50 MB, 1,000 times (S4)',
     database(RANGES, NAMES, names(1, lambda i: 'x' * LONG, lambda i: 1), ranges(1_000)), SQLITE, quick=True)
bomb('trace in SQLite', 'a text of 100 MB', database(RANGES, NAMES, ranges(1, 'xx')), SQLITE)
bomb('trace in SQLite', '30,000 equal names and 30,000 ranges (S5)',
     database(RANGES, NAMES.replace('INTEGER PRIMARY KEY', 'INTEGER'), names(30_000, id=lambda i: 1), ranges(30_000)),
     SQLITE, quick=True)
bomb('trace in SQLite', '1,000,000 ranges', database(RANGES, NAMES, names(2), ranges(MANY)), SQLITE,
     seconds=60)
bomb('trace in SQLite', '1,000,000 names',
     database(RANGES, NAMES, names(MANY, lambda i: f'n{i}'), ranges(10)), SQLITE, seconds=60)
bomb('trace in SQLite', 'a view that counts for ever',
     database(RANGES.replace('NVTX_EVENTS', 'e'), NAMES, 'CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) '
              'SELECT x AS start, x+1 AS end, 1 AS globalTid, 1 AS textId, NULL AS text FROM c'), SQLITE, quick=True)
bomb('trace in SQLite', '1,000 tables', database(RANGES, NAMES, *(f'CREATE TABLE t{i}(a)' for i in range(1_000))), SQLITE)


def packed(pieces):
    def make(folder):
        with gzip.open(folder / 'x.json.gz', 'wb', 9) as file:
            for piece, times in pieces:
                while times > 0:
                    file.write(piece * min(times, MANY))
                    times -= MANY
    return make


GZIP = 'trace x.json.gz'
bomb('packed trace', '300,000,000 empty events (S6)', packed([(b'{"traceEvents":[', 1), (b'{},', 300 * MANY), (b'{}]}', 1)]), GZIP, mebibytes=1280)
bomb('packed trace', '49,000,000 empty events', packed([(b'{"traceEvents":[', 1), (b'{},', 49 * MANY), (b'{}]}', 1)]), GZIP, seconds=60,
     mebibytes=1536)
bomb('packed trace', '24,000,000 empty events', packed([(b'{"traceEvents":[', 1), (b'{},', 24 * MANY), (b'{}]}', 1)]), GZIP, seconds=120,
     mebibytes=6144)
bomb('packed trace', '1 GB of blanks (S6)', packed([(b' ', 1000 * MANY)]), GZIP, mebibytes=1280)
bomb('packed trace', '600 MB of brackets', packed([(b'{"traceEvents":', 1), (b'[', 600 * MANY)]), GZIP, mebibytes=1280)
bomb('timer log', '1,000,000 lines', lambda: (CORPUS / 'timer_log' / 'two_ranks.log').read_bytes() * 2_000, 'trace x.log', seconds=60)

# --- Times of messages: ping-pongs beside a traced run ---

RUN = REPOSITORY / 'tests' / 'sim' / 'traces' / 'data' / 'zb-h1'


def traced(folder):
    for rank in RUN.iterdir():
        shutil.copy(rank, folder)


def ping_pong(name, make, **more):
    bomb('ping-pong', name, beside(traced, 'x.csv', make),
         'trace rank0.json.gz rank1.json.gz rank2.json.gz rank3.json.gz --summary --message-bytes 4KiB --messages x.csv --profile p.json', **more)


ping_pong('1,000,000 rows of one size', lambda: b'bytes,median_us\n' + b'4096,10\n' * MANY)
ping_pong('1,000,000 sizes', lambda: b'bytes,median_us\n' + b''.join(b'%d,10\n' % (i + 4096) for i in range(MANY)), mebibytes=2048)
ping_pong('1,000,000 columns', lambda: b'bytes,median_us' + b',a' * MANY + b'\n4096,10' + b',1' * MANY + b'\n')
ping_pong('a cell of 50 MB', lambda: b'bytes,median_us\n4096,' + b'1' * LONG + b'\n')
ping_pong('a name of 50 MB', lambda: b'bytes,' + b'x' * LONG + b'\n4096,10\n')
ping_pong('a size and a time of 10^300', lambda: b'bytes,median_us\n' + b'1' * 300 + b',' + b'1' * 300 + b'\n', quick=True)

# --- Measured steps, which the constants of a device are fitted to ---

FIT = 'device fit --rows x.csv --cluster a100-1x8 --rounds 1 -o out.json'
STEPS = CORPUS / 'public_table' / 'vtrain.csv'


def steps(name, change, **more):
    """`change` takes the header and the first row of a table, and gives another table."""
    bomb('measured steps', name, lambda change=change: change(*STEPS.read_bytes().splitlines()[:2]), FIT, **more)


def with_cell(column, value):
    """The table with another value, which is a function's, in one cell."""
    def change(header, row):
        cells = row.split(b',')
        cells[header.split(b',').index(column)] = value()
        return header + b'\n' + b','.join(cells) + b'\n'
    return change


steps('1,000,000 rows', lambda header, row: header + b'\n' + (row + b'\n') * MANY)
steps('1,000,000 empty rows', lambda header, row: header + b'\n' + (b',' * header.count(b',') + b'\n') * MANY)
steps('1,000,000 columns', lambda header, row: header + b',a' * MANY + b'\n' + row + b',1' * MANY + b'\n')
steps('a quote that never ends', lambda header, row: header + b'\n"' + b'x' * LONG)
steps('a row without ends, 50 MB', lambda header, row: header + b'\n' + b',' * LONG)
for column in (b'row_id', b'model', b'layers', b'gpu', b'schedule', b'note'):
    steps(f'{column.decode()} of 50 MB', with_cell(column, lambda: b'9' * LONG), mebibytes=2048)
for column in (b'layers', b'hidden', b'heads', b'seq', b'vocab', b'experts', b'num_gpus', b'tp', b'pp', b'vp', b'dp', b'cp', b'microbatch_size',
               b'num_microbatches'):
    steps(f'{column.decode()} of 2,000,000,000', with_cell(column, lambda: b'2000000000'))
add_json('recipe of measured steps', FIT, 'step_recipe/megatron_moe.json',
         lambda make: beside(lambda folder: shutil.copy(STEPS, folder / 'x.csv'), 'x.json', make))

# --- Other tables ---

bomb('nodes', '1,000,000 lines', lambda: b''.join(b'%d,add,n%d\n' % (i, i) for i in range(MANY)),
     'campaign --trace x.csv --layouts bamboo-gpt2', seconds=120)
bomb('nodes', 'a name of 50 MB', lambda: b'0,add,' + b'n' * LONG + b'\n', 'campaign --trace x.csv --layouts bamboo-gpt2')
bomb('graph as lines', '300,000 nodes', lambda: b''.join(b'node%d -- a -- forward_compute_time=1, backward_compute_time=1, activation_size=1, parameter_size=1\n' % i
                                                          for i in range(300_000)), PRICED + 'x.txt', seconds=60)
bomb('graph as lines', '300,000 edges', lambda: (CORPUS / 'published_network' / 'graph.txt').read_bytes() + b'\n\tnode1 -- node2' * 300_000, PRICED + 'x.txt',
     seconds=60)
bomb('option', 'a partition of 120 KB (S12)', lambda: b'', PRICED + 'gpt-tiny --partition ' + '1,' * 60_000 + '1', quick=True)
bomb('option', 'a cost of 120 KB', lambda: b'', 'simulate 1f1b -p 2 -m 2 --cost ' + 'F' * 120_000 + '=1', quick=True)
bomb('option', '1,000,000 devices', lambda: b'', 'simulate 1f1b -p 1000000 -m 1000000 --cost F=1 --summary', seconds=60, mebibytes=4096)

# --- What the trainer reads ---

TRAIN = 'train 1f1b -p 2 -m 2 --network gpt-tiny --sequence 8 --samples 1 --steps 1 --executor serial '


def tensors(header):
    return len(header).to_bytes(8, 'little') + header


bomb('weights', '100,000 arrays in the header', lambda: tensors(b'{"a":' + b'[' * DEEP + b']' * DEEP + b'}'), TRAIN + '--weights x.safetensors', quick=True)
bomb('weights', 'a header of 2^63 bytes', lambda: (1 << 63).to_bytes(8, 'little') + b'{}', TRAIN + '--weights x.safetensors', quick=True)
bomb('weights', '500,000 tensors', lambda: tensors(b'{' + b','.join(b'"t%d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}' % i for i in range(500_000)) + b'}'),
     TRAIN + '--weights x.safetensors', seconds=60, mebibytes=3072)
bomb('weights', 'a name of 50 MB', lambda: tensors(b'{"' + b'x' * LONG + b'":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}'),
     TRAIN + '--weights x.safetensors')
bomb('index of weights', '1,000,000 tensors', lambda: b'{"weight_map":{' + b','.join(b'"t%d":"a"' % i for i in range(MANY)) + b'}}',
     TRAIN + '--weights x.json', mebibytes=2048)
bomb('training data', 'a line of 50 MB', lambda: b'x' * LONG, TRAIN + '--data x.txt')

TRAIN_PAIRS = TRAIN.replace('gpt-tiny', 'transformer-tiny') + '--data x.tsv'
bomb('pairs of sentences', 'a line of 50 MB without a tab', lambda: b'x' * LONG, TRAIN_PAIRS)
bomb('pairs of sentences', 'a word of 25 MB on both sides', lambda: b'x' * (LONG // 2) + b'\t' + b'y' * (LONG // 2) + b'\n', TRAIN_PAIRS)
bomb('pairs of sentences', '1,000,000 words in a sentence', lambda: b'x ' * MANY + b'\ty\n', TRAIN_PAIRS)
bomb('pairs of sentences', '1,000,000 pairs', lambda: b'x\ty\n' * MANY, TRAIN_PAIRS)
bomb('pairs of sentences', '1,000,000 different words', lambda: b''.join(b'x%d\ty%d\n' % (i, i) for i in range(MANY)), TRAIN_PAIRS, mebibytes=2048)
bomb('pairs of sentences', '1,000,000 tabs', lambda: b'x' + b'\t' * MANY, TRAIN_PAIRS)


def sparse(name, size):
    def make(folder):
        with open(folder / name, 'wb') as file:
            file.truncate(size)
    return make


IMAGE = 1 + 3 * 32 * 32
TRAIN_IMAGES = 'train 1f1b -p 2 -m 2 --network resnet-20 --samples 1 --steps 1 --executor serial --data x.bin'
bomb('images', '20,000 images', lambda: bytes(IMAGE) * 20_000, TRAIN_IMAGES, mebibytes=2048)
bomb('images', '50 MB and a byte', lambda: bytes(IMAGE) * 16_000 + b'x', TRAIN_IMAGES)
bomb('images', 'a label of 255 behind 16,000 images', lambda: bytes(IMAGE) * 16_000 + b'\xff' * IMAGE, TRAIN_IMAGES)
bomb('images', '5 GB of nothing', sparse('x.bin', 5 << 30), TRAIN_IMAGES)

# --- Checkpoints: the program saves a run, whose state is then another one ---

SAVE = 'train pipedream -p 2 -m 2 --network gpt-tiny --sequence 8 --samples 1 --steps 2 --executor serial --checkpoint saved'
STATE = json.loads((CORPUS / 'checkpoint_state' / 'after_first_update.json').read_text())
PROGRAMS = []  # the one that is under test


def saved_update(folder):
    """The folder of the first checkpoint of a run of two updates, alone."""
    subprocess.run([*PROGRAMS, *SAVE.split()], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    first, *later = sorted((folder / 'saved').glob('update-*'))
    for each in later:
        shutil.rmtree(each)
    return first


def checkpoint(name, change=lambda state: state, tensors=None, **more):
    """A state that the checksums of its version do not refuse (version 1 has none), or the bytes of another file of tensors."""
    def make(folder):
        first = saved_update(folder)
        state = json.loads((first / 'state.json').read_text())
        del state['checksums'], state['crc32c']
        changed = change({**state, 'version': 1})
        (first / 'state.json').write_bytes(changed if isinstance(changed, bytes) else json.dumps(changed).encode())
        if tensors:
            (first / 'tensors.safetensors').write_bytes(tensors())
    bomb('checkpoint', name, make, SAVE + ' --resume', **more)


checkpoint('nothing changed')
checkpoint('100,000 arrays in each other', lambda state: b'[' * DEEP + b']' * DEEP)
checkpoint('1,000,000 keys', lambda state: {**state, **{f'k{i}': 0 for i in range(MANY)}})
checkpoint('a pass of 2^62', lambda state: with_value(state, ('pass',), 1 << 62))
checkpoint('a position of 2^62', lambda state: with_value(state, ('positions', 0), 1 << 62))
checkpoint('a holder of 2^31 - 1', lambda state: with_value(state, ('holders', 0, 'holder'), (1 << 31) - 1))
checkpoint('2^62 updates done', lambda state: with_value(state, ('holders', 0, 'updates_done'), 1 << 62))
for where in places(STATE, list):
    if at(STATE, where):
        checkpoint(f'1,000,000 items of {path_text(where)}', lambda state, where=where: repeated(state, where), seconds=60, mebibytes=3072)
for where in places(STATE, str):
    checkpoint(f'{path_text(where)} of 50 MB', lambda state, where=where: with_value(state, where, 'x' * LONG), mebibytes=2048)
checkpoint('a header of tensors of 2^63 bytes', tensors=lambda: (1 << 63).to_bytes(8, 'little') + b'{}')
checkpoint('100,000 arrays in the header of tensors', tensors=lambda: tensors(b'{"a":' + b'[' * DEEP + b']' * DEEP + b'}'))
checkpoint('500,000 tensors', tensors=lambda: tensors(b'{' + b','.join(b'"t%d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}' % i for i in range(500_000)) + b'}'),
           seconds=60, mebibytes=3072)

# --- Running them ---


def limited(mebibytes, seconds):
    def set_limits():
        space = (mebibytes + SPARE_MEBIBYTES) << 20
        resource.setrlimit(resource.RLIMIT_AS, (space, space))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return set_limits


def make_files(one, folder):
    """A maker without parameters gives the text of the file that the command names. Works in a process of its own: the
    most memory that a child has had counts from its parent's on."""
    maker = os.fork()
    if maker:
        if os.waitpid(maker, 0)[1]:
            sys.exit(f'error: {one.reader}, {one.name}: not made')
        return
    status = 1
    try:
        if one.make.__code__.co_argcount and not one.make.__defaults__:
            one.make(folder)
        else:
            named = [word for word in one.command.split() if word.startswith('x.')]
            for name in named[:1]:
                (folder / name).write_bytes(one.make())
        status = 0
    finally:
        os._exit(status)


def problem_of(one, status, used, said):
    """What is wrong with how the program ended; empty: nothing."""
    if status < 0:
        out_of_time = -status in (signal.SIGXCPU, signal.SIGKILL)
        return f'not done within {one.seconds} s' if out_of_time else signal.Signals(-status).name
    if status not in (0, 2, 3):
        return f'exit status {status}'
    if len(said) > LONGEST_ERROR:
        return f'{len(said)} bytes on standard error'
    longest = max(map(len, said.split()), default=0)
    if longest > LONGEST_WORD:
        return f'{longest} bytes of a value on standard error'
    if b'more memory than this process can get' in said:
        return f'wants more than {one.mebibytes + SPARE_MEBIBYTES} MiB'
    if used > one.mebibytes:
        return f'{used} MiB, expected at most {one.mebibytes}'
    unread = [words for words in UNREAD if words in said.decode(errors='replace')]
    return f'was not read: {unread[0]}' if unread else ''


def run(one, program, folder, preloaded):
    environment = {**os.environ, 'LC_ALL': 'C', **({'LD_PRELOAD': str(preloaded)} if preloaded else {})}
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen([program, *one.command.split()], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=errors, preexec_fn=limited(one.mebibytes, one.seconds))
        waiting = threading.Timer(WALL_SECONDS, child.kill)
        waiting.start()
        _, status, used = os.wait4(child.pid, 0)
        waiting.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        said = errors.read(1 << 20)
    mebibytes = used.ru_maxrss // 1024
    return Run(problem_of(one, child.returncode, mebibytes, said), used.ru_utime + used.ru_stime, mebibytes, said)


def told(said):
    """The first line, as a cell of a table."""
    line = (said.decode(errors='replace').splitlines() or ['answers'])[0].removeprefix('plumbline: ').removeprefix('error: ')
    line = line if len(line) <= 130 else line[:90] + ' ... ' + line[-35:]
    return line.replace('|', '\\|').replace('<', '&lt;')


def row(one, runs):
    worst = max(runs, key=lambda each: bool(each.problem))
    said = told(worst.said)
    return (f'| {one.reader} | {one.name} | {max(each.mebibytes for each in runs)} | {max(each.seconds for each in runs):.1f} | '
            f'{"**" + worst.problem + "**; " if worst.problem else ""}{said} |')


def explode(one, program, stack):
    """The runs on the stacks that there are, in that order."""
    with tempfile.TemporaryDirectory(prefix='bomb-') as name:
        folder = pathlib.Path(name)
        make_files(one, folder)
        return [run(one, program, folder, preloaded) for preloaded in (None, stack)]


def with_old_rows(rows, file):
    """What FILE has of bombs that did not go off this time stays."""
    known = {}
    for line in [*(file.read_text().splitlines() if file.exists() else ()), *rows]:
        known[tuple(line.split(' | ')[:2])] = line
    keys = [(f'| {one.reader}', one.name) for one in BOMBS]
    return [known[key] for key in keys if key in known]


def page(rows):
    failed = sum('**' in row for row in rows)
    return '\n'.join(['# Size bombs', '',
                      f'`tests/bombs/bombs.py build/release/tools/plumbline build/release/tests/bombs/small_stack.so --all --write '
                      f'results/hardening/bombs.md`, on {datetime.date.today()}, {platform.machine()}, {os.cpu_count()} cores: {len(rows)} documents, each on the '
                      f'usual stack and on one of 512 KiB; {failed} of them broke a bound. Memory and processor time are those of the worse run.', '',
                      '| reader | bomb | MiB | seconds | what it says |', '|---|---|---:|---:|---|', *rows, ''])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0], epilog=__doc__.split('\n', 2)[2],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('program', type=pathlib.Path)
    parser.add_argument('stack', type=pathlib.Path, metavar='SMALL_STACK')
    parser.add_argument('readers', nargs='*', metavar='READER')
    parser.add_argument('--all', action='store_true', help='also those that take their time')
    parser.add_argument('--write', type=pathlib.Path, metavar='FILE', help='the table as a page')
    arguments = parser.parse_intermixed_args()
    program, stack = arguments.program.resolve(), arguments.stack.resolve()
    PROGRAMS.append(program)
    unknown = set(arguments.readers) - {one.reader for one in BOMBS}
    if unknown:
        sys.exit(f'error: no reader {", ".join(unknown)}; expected one of {", ".join(sorted({one.reader for one in BOMBS}))}')
    trains = subprocess.run([program, 'train', '--help'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    rows, failed, spent = [], 0, 0.0
    for one in BOMBS:
        chosen = (arguments.all or one.quick) and (not arguments.readers or one.reader in arguments.readers)
        if not chosen or (one.command.startswith('train ') and not trains):
            continue
        runs = explode(one, program, stack)
        spent += sum(each.seconds for each in runs)
        failed += any(each.problem for each in runs)
        rows.append(row(one, runs))
        if arguments.all or any(each.problem for each in runs):
            print(rows[-1], flush=True)
    print(f'{len(rows)} documents, {failed} broke a bound, {spent:.0f} s of processor time')
    if arguments.write:
        arguments.write.write_text(page(with_old_rows(rows, arguments.write)))
    sys.exit(1 if failed or not rows else 0)


if __name__ == '__main__':
    main()
