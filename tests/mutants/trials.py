"""Tries a mutant: compiles it, and runs the test cases that run its line, cheapest first, until one notices it."""
import os
import re
import resource
import signal
import subprocess

from places import top_level
from sites import blanked

SLOWER = 10       # a mutant's cases may take this many times as long as without it
LEAST_SECONDS = 10
QUIET_SECONDS = 60
MOST_BYTES = 6 << 30
BATCHES = [0.3, 1, 3, 10, 30, 1e9]  # seconds that one start of the program may take, by how many went before


def output_of(program):
    """What a program says; None where it sleeps, that is, does nothing in the second of two periods. Other work on the
    machine makes it slow, and that says nothing: the limit of its own processor time ends what computes for too long."""
    before = None
    while True:
        try:
            return program.communicate(timeout=QUIET_SECONDS)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            with open(f"/proc/{program.pid}/stat") as stat:
                now = stat.read().rsplit(")", 1)[1].split()[11:13]  # time in the program and in the system
        if now == before:
            os.killpg(program.pid, signal.SIGKILL)
            program.communicate()
            return None
        before = now


class Trial:
    def __init__(self, builds, records, halls, time_limit):
        self.builds, self.records, self.halls, self.time_limit = builds, records, halls, time_limit

    def run(self, mutant, name, above):
        """A result as (verdict, by whom): noticed, survived, "not run" (no case runs the line), "does not compile"."""
        text = open(os.path.join(self.builds.root, mutant.path)).read()
        library, said = self.builds.compile_mutant(mutant.path, mutant.apply(text), name)
        try:
            if library is None:
                return ("noticed", "static_assert") if "static assertion failed" in said else ("does not compile", "")
            declaration = top_level(blanked(text), mutant.begin)
            own = mutant.path.split("/")[0]
            halls = [hall for hall in self.halls if hall == own or (above and self.halls.index(hall) > self.halls.index(own))]
            ran = False
            for hall in halls:
                cases, verdict = self._hall(hall, mutant, declaration, library)
                ran = ran or cases > 0
                if verdict:
                    return "noticed", f"{hall}: {verdict}"
            return ("survived" if ran else "not run"), ""
        finally:
            for kind in ("cpp", "so"):
                path = os.path.join(self.builds.folder, f"tried/{name}.{kind}")
                if os.path.exists(path):
                    os.remove(path)

    def _hall(self, hall, mutant, declaration, library):
        record, spent = self.records[hall], 0
        exact = record.of_line(mutant.path, mutant.line, declaration)
        near = record.around(mutant.path, max(mutant.line - 3, declaration[0]), min(mutant.line + 3, declaration[1])) or 0
        # What is computed once, such as a list of all planners, runs in the first case that asks for it, for all cases.
        once = bin(exact | near).count("1") == 1
        room = record.of_room(mutant.path) if once else 0
        for bits in (exact, near & ~exact, room & ~(exact | near)):
            left = record.cheapest_first(bits)
            for limit in BATCHES:
                batch = []
                while left and (not batch or sum(record.seconds[i] for i in batch) + record.seconds[left[0]] <= limit):
                    batch.append(left.pop(0))
                if not batch or spent > self.time_limit:
                    break
                verdict = self._batch(hall, record, batch, library)
                spent += sum(record.seconds[i] for i in batch)
                if verdict:
                    return 1, verdict
        return bin(exact | near).count("1"), ""

    def _batch(self, hall, record, batch, library):
        """Which case noticed, or "" if none did."""
        names = ",".join(re.sub(r"[,\\*]", "?", record.names[i]) for i in batch)
        expected = sum(record.seconds[i] for i in batch)
        seconds = int(LEAST_SECONDS + SLOWER * expected)

        def limits():
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        program = subprocess.Popen([self.builds.programs[hall], "--abort-after=1", "--no-colors", f"-tc={names}"],
                                   cwd=self.builds.root, env=dict(os.environ, LD_PRELOAD=library), stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, preexec_fn=limits, start_new_session=True)
        out = output_of(program)
        if out is None:
            return "hangs"
        if "symbol lookup error" in out or "cannot be preloaded" in out:
            raise RuntimeError(out.strip().splitlines()[-1])
        if program.returncode == 0:
            return ""
        found = re.search(r"^TEST CASE:\s+(.*)$", out, re.M)
        if program.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            return "takes too long" + (f" ({found[1]})" if found else "")
        return found[1] if found else f"exit status {program.returncode}"
