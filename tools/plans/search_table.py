#!/usr/bin/env python3
"""What `plumbline search` finds for common cases, beside the best schedule of the catalogue: writes a CSV.

    tools/plans/search_table.py build/release/tools/plumbline > results/search/found.csv

Every row has its command. Efforts are counted, so the table is the same on every machine; it takes some minutes.
"""
import csv
import json
import subprocess
import sys

EFFORT = '--simulations 5000'
TIGHT = [(4, 12, 1), (4, 12, 1.5), (4, 12, 2), (8, 16, 2), (8, 16, 3), (8, 16, 4)]
UNLIKE = [(cost, *size) for cost in ('F=2,I=3,W=1', 'F=5,I=6,W=4') for size in ((4, 12, 3), (8, 16, 6))]
SLOW = [(comm, *size) for comm in (0.5, 1) for size in ((4, 12, 4), (8, 16, 8))]
NETWORKS = [('gpt2-small', 'a100-1x4', 4, 12, '2GiB'), ('gpt2-small', 'v100-4x1', 4, 12, '2GiB'),
            ('gpt2-medium', 'v100-8x1', 8, 16, '3GiB')]

# Kind of the case, then the options of the command.
CASES = [
    *[('tight memory, one stage per device', f'-p {p} -m {m} --memory-limit {limit} --placement straight --cost F=1,I=1,W=1')
      for p, m, limits in ((4, 12, (2, 3)), (6, 18, (3, 4)), (8, 24, (4, 6)), (16, 32, (8,))) for limit in limits],
    *[('tight memory, whole backwards', f'-p {p} -m {m} --memory-limit {limit} --placement straight --backward whole --cost F=1,B=2')
      for p, m, limits in ((4, 12, (2, 3)), (8, 24, (5, 7)), (16, 32, (8,))) for limit in limits],
    *[('tight memory, two stages per device', f'-p {p} -m {m} -v 2 --memory-limit {limit} --cost F=1,I=1,W=1')
      for p, m, limit in TIGHT],
    *[('unlike passes, two stages per device', f'-p {p} -m {m} -v 2 --memory-limit {limit} --cost {cost}')
      for cost, p, m, limit in UNLIKE],
    *[('slow links, two stages per device', f'-p {p} -m {m} -v 2 --memory-limit {limit} --cost F=1,I=1,W=1,comm={comm}')
      for comm, p, m, limit in SLOW],
    *[('slow links, one stage per device', f'-p {p} -m {m} --memory-limit {p} --placement straight --cost F=1,I=1,W=1,comm={comm}')
      for p, m in ((4, 12), (8, 16)) for comm in (0.5, 1, 2)],
    *[('unequal stages, two per device', f'-p {p} -m {m} -v 2 --network {network} --cluster {cluster} --partition equal --memory-limit {limit}')
      for network, cluster, p, m, limit in NETWORKS],
]


def row_of(program, kind, options):
    command = f'search {options} {EFFORT}'
    done = subprocess.run([program, *command.split(), '--json', '-'], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        sys.exit(f'{command}: {done.stderr}')
    found = json.loads(done.stdout)
    if not found['orders']:
        return [kind, f'plumbline {command}', 'nothing fits', '', '', '', '', '', '']
    best, known = found['orders'][0], found.get('best_of_catalogue')
    bound = best.get('bound_ns')
    ms = lambda ns: f'{ns / 1e6:.6g}'
    return [kind, f'plumbline {command}', best['name'], ms(best['makespan_ns']), ms(bound) if bound else '',
            f'{100 * (best["makespan_ns"] / bound - 1):.1f}' if bound else '',
            known['name'] if known else 'none fits', ms(known['makespan_ns']) if known else '',
            f'{100 * (known["makespan_ns"] / best["makespan_ns"] - 1):.1f}' if known else '']


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    writer = csv.writer(sys.stdout, lineterminator='\n')
    writer.writerow(['kind', 'command', 'best', 'ms', 'bound_ms', 'gap_percent', 'best_of_catalogue', 'catalogue_ms',
                     'catalogue_longer_percent'])
    for kind, options in CASES:
        writer.writerow(row_of(sys.argv[1], kind, options))
        sys.stdout.flush()


if __name__ == '__main__':
    main()
