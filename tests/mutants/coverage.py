"""Which test cases run a line, and how long they take: a map from what recorder.cpp wrote.

GCC calls a function at the beginning of every block of code. The recorder writes down where it was called from; here the
addresses become lines, by the libraries' tables of lines. A line belongs to the blocks that begin inside its code, or else
to the block that it continues.
"""
import array
import bisect
import hashlib
import os
import re
import subprocess
import time

HEADING = re.compile(r"^(\S.*\.\w+):$")
ROW = re.compile(r"^(\S+)\s+(\d+)\s+0x([0-9a-f]+)")


class Library:
    def __init__(self, path, sources):
        listed = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], check=True, capture_output=True, text=True).stdout
        self.blocks = []  # addresses behind the calls, ascending
        call = False
        for line in listed.splitlines():
            if call and line.startswith(" "):
                self.blocks.append(int(line.split(":", 1)[0], 16))
            call = "call" in line and "__sanitizer_cov_trace_pc" in line
        self.lines = {}  # (file, line) -> indices of blocks
        self._read_lines(path, {os.path.basename(source): source for source in sources})

    def _read_lines(self, path, long_name):
        listed = subprocess.run(["readelf", "--debug-dump=decodedline", path], check=True, capture_output=True, text=True).stdout
        rows, heading = [], ""
        for line in listed.splitlines():
            if found := HEADING.match(line):
                heading = re.sub(r"^(\.\./)+", "", found[1])  # relative to the folder of the build
                if "/" in heading:
                    long_name[os.path.basename(heading)] = heading
            elif found := ROW.match(line):
                rows.append((int(found[3], 16), found[1], heading, int(found[2])))
        rows.sort(key=lambda row: row[0])
        for (begin, short, heading, line), (end, *_) in zip(rows, rows[1:] + [(1 << 62,)]):
            if begin == end:
                end = begin + 1
            file = heading if heading.endswith("/" + short) else long_name.get(short, short)
            if not re.match(r"(models|schedules|sim|trainer|tools)/", file):
                continue
            low, high = bisect.bisect_right(self.blocks, begin), bisect.bisect_right(self.blocks, end)
            inside = range(low, high) if high > low else range(max(low - 1, 0), low)
            self.lines.setdefault((file, line), set()).update(inside)


class Record:
    """What one test program ran: its cases, and for every line the cases that ran it, as the bits of a number."""

    def __init__(self, path, libraries, sources):
        data = open(path, "rb").read()
        self.names, self.seconds, self.lines = [], [], {}
        parts, marks, at = [], {}, 0
        while at < len(data):
            end = data.index(b"\n", at)
            kind, *fields = data[at:end].decode().split("\t")
            at = end + 1
            if kind == "library":
                parts.append((int(fields[2]), int(fields[1]), fields[0]))
                continue
            bit = 1 << len(self.names)
            self.names.append(fields[0])
            self.seconds.append(float(fields[1]))
            found = array.array("I", data[at:at + 4 * int(fields[2])])
            at += 4 * int(fields[2])
            for mark in found:
                marks[mark] = marks.get(mark, 0) | bit
        for first_mark, address, name in parts:
            if name not in libraries:
                libraries[name] = Library(name, sources)
            library = libraries[name]
            ran = [marks.get(block - address + first_mark, 0) for block in library.blocks]
            for key, blocks in library.lines.items():
                bits = 0
                for block in blocks:
                    bits |= ran[block]
                self.lines[key] = self.lines.get(key, 0) | bits
        self.by_file = {}
        for (file, line), bits in self.lines.items():
            self.by_file.setdefault(file, {})[line] = bits

    def around(self, path, first, last):
        """The cases that run a line from `first` to `last`; None where no line has code."""
        found = [bits for line, bits in self.by_file.get(path, {}).items() if first <= line <= last]
        return None if not found else _any(found)

    def of_line(self, path, line, declaration):
        """The cases that may notice a change in a line of a declaration (first line, last line, whether a function)."""
        lines = self.by_file.get(path, {})
        first, last, function = declaration
        whole = self.around(path, first, last)
        if not function or whole is None:
            return _any(lines.values())
        if line in lines:
            return lines[line]
        before = [at for at in lines if first <= at <= line]
        return (lines[max(before)] if before else 0) or whole

    def of_room(self, path):
        """The cases that run anything of a source's folder."""
        folder = os.path.dirname(path)
        return _any(bits for file, lines in self.by_file.items() if os.path.dirname(file) == folder for bits in lines.values())

    def cheapest_first(self, bits):
        return sorted((i for i in range(len(self.names)) if bits >> i & 1), key=lambda i: self.seconds[i])


def _any(bits):
    result = 0
    for each in bits:
        result |= each
    return result


def record(builds, hall, libraries, say):
    """The record of a hall's tests; they run when their program or a library is not the one that was recorded."""
    path, program = os.path.join(builds.folder, f"{hall}.record"), builds.programs[hall]
    now = hashlib.sha256()
    for name in builds.parts[hall]:
        with open(name, "rb") as file:
            now.update(file.read())
    of = os.path.join(builds.folder, f"{hall}.record.of")
    if not os.path.exists(path) or not os.path.exists(of) or open(of).read() != now.hexdigest():
        begin = time.monotonic()
        environment = dict(os.environ, PLUMB_MUTANTS_RECORD=path + ".new")
        subprocess.run([program], cwd=builds.root, env=environment, check=True, stdout=subprocess.DEVNULL)
        os.rename(path + ".new", path)
        with open(of, "w") as file:
            file.write(now.hexdigest())
        say(f"{hall}: tests recorded in {time.monotonic() - begin:.0f} s", flush=True)
    return Record(path, libraries, builds.command_of)
