"""Builds what mutants are tried with, from the commands of an ordinary build.

Libraries of the product are compiled once more as shared libraries that say which blocks of code run. A test program is
linked with them from the objects of the ordinary build. A mutant is one source, compiled alone as a shared library of its
own: loaded first (LD_PRELOAD), its functions take the place of those in the libraries, so that nothing is linked again.
"""
import os
import re
import resource
import subprocess

FLAGS = "-O1 -g1 -w -fsanitize-coverage=trace-pc"
# Accesses behind the end of a vector stop the program, as under the address sanitizer.
MUTANT_FLAGS = "-O0 -w -D_GLIBCXX_ASSERTIONS -fvisibility-inlines-hidden"
SECONDS_TO_COMPILE = 120


class Builds:
    """The programs of some halls; `build` is the folder of an ordinary build, `folder` where our own files go."""

    def __init__(self, root, build, folder):
        self.root, self.build, self.folder = root, build, folder
        self.command_of = {}  # source -> command that compiles the unit with it, without where to put it
        self.library_of = {}  # source -> shared library with it
        self.programs = {}    # hall -> test program
        self.parts = {}       # hall -> that program and its libraries

    def prepare(self, halls, instrumented, jobs):
        targets = [f"{hall}_test" for hall in halls]
        subprocess.run(["ninja", "-C", self.build, f"-j{jobs}", "--quiet", *targets], check=True)
        os.makedirs(self.folder, exist_ok=True)
        rules = [f"builddir = {self.folder}\n", "rule run\n  command = $line\n  depfile = $dep\n  deps = gcc\nrule link\n  command = $line\n"]
        written = set()
        for hall, target in zip(halls, targets):
            listed = subprocess.run(["ninja", "-C", self.build, "-t", "commands", target], check=True, capture_output=True,
                                    text=True).stdout.splitlines()
            rules += self._rules(hall, listed, instrumented, written)
        with open(os.path.join(self.folder, "build.ninja"), "w") as file:
            file.write("".join(rules))
        # In the folder of the ordinary build: ccache writes names of headers relative to it.
        ours = ["-f", os.path.join(self.folder, "build.ninja")]
        subprocess.run(["ninja", "-C", self.build, *ours, f"-j{jobs}", "--quiet"], check=True)

    def _rules(self, hall, listed, instrumented, written):
        compiled = {m[1]: line for line in listed if (m := re.search(r" -o (\S+\.o) -c ", line))}
        archives = {m[1]: m[2].split(" && ")[0].split() for line in listed
                    if (m := re.search(r"\bar qc (\S*/libplumb_\w+\.a) (.*)", line))}
        link = listed[-1].removeprefix(": && ").removesuffix(" && :").split()
        for archive, objects in archives.items():
            if archive.split("/")[0] not in instrumented:
                continue
            library = self._own(re.sub(r"\.a$", ".so", os.path.basename(archive)))
            link = [library if word == archive else word for word in link]
            if library not in written:
                written.add(library)
                ours = []
                for name in objects:
                    ours.append(self._object(name, compiled[name], library))
                    yield ours[-1][1]
                inputs = " ".join(name for name, _ in ours)
                yield _edge(library, inputs, f"{link[0]} -shared -o {library} {inputs}")
        if "recorder" not in written:
            written.add("recorder")
            source, out = f"{self.root}/tests/mutants/recorder.cpp", self._own("recorder.o")
            yield _edge(out, source, f"{link[0]} -std=c++20 -O2 -Wall -Wextra -MD -MF {out}.d -c {source} -o {out}", f"{out}.d")
        program = self._own(f"{hall}_test")
        at = link.index("-o")
        objects = [word for word in link if word.endswith(".o")]
        rest = [word for word in link[at + 2:] if word not in objects]
        inputs = [os.path.join(self.build, word) for word in objects] + [self._own("recorder.o")]
        libraries = [word for word in rest if word.endswith(".so") and word.startswith(self.folder)]
        line = [link[0], "-o", program, *inputs, "-Wl,--no-as-needed", *rest, f"-Wl,-rpath,{self.folder}"]
        yield _edge(program, " ".join(inputs + libraries), ' '.join(line))
        self.programs[hall] = program
        self.parts[hall] = [program, *libraries]

    def _object(self, name, command, library):
        """The rule of an object in a library, and for every source in it how a mutant of that source is compiled."""
        compiler = command[re.search(r"\S*/(c\+\+|g\+\+\S*) ", command).start():] if ".cu.o" not in name else None
        if compiler is None or not re.search(r"-fPIC|-fpic", compiler):
            return os.path.join(self.build, name), ""
        out, source = self._own(name), command.rsplit(" -c ", 1)[1].strip()
        flags = re.sub(r" -(O\d|W[\w-]+|g\d?|MD|M[TF] \S+|o \S+|c \S+)(?= |$)", "", compiler)
        launcher = command[:len(command) - len(compiler)] if "ccache" in command else ""
        path = source if os.path.isabs(source) else os.path.join(self.build, source)
        inside = re.findall(r'^#include "(/[^"]+)"', open(path).read(), re.M) if "/Unity/" in path else [path]
        for each in inside:
            self.command_of[os.path.relpath(each, self.root)] = flags
            self.library_of[os.path.relpath(each, self.root)] = library
        line = f"{launcher}{flags} {FLAGS} -MD -MF {out}.d -MT {out} -c {source} -o {out}"
        return out, _edge(out, source if os.path.isabs(source) else path, line, f"{out}.d")

    def _own(self, name):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def compile_mutant(self, source, text, name):
        """Compiles `text` in place of a source; its library and the compiler's messages, or None and the messages."""
        copy, library = self._own(f"tried/{name}.cpp"), self._own(f"tried/{name}.so")
        with open(copy, "w") as file:
            file.write(text)
        line = (f"cd {self.build} && {self.command_of[source]} {MUTANT_FLAGS} -x c++ {copy} -x none -shared -o {library} "
                f"{self.library_of[source]}")
        def limit():  # of processor time, which other work on the machine does not make longer
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS_TO_COMPILE, SECONDS_TO_COMPILE))

        done = subprocess.run(line, shell=True, capture_output=True, text=True, preexec_fn=limit)
        return (library if done.returncode == 0 else None), done.stderr


def _edge(out, inputs, line, dep=None):
    line = line.replace("$", "$$")
    text = f"build {out}: {'run' if dep else 'link'} {inputs}\n  line = {line}\n"
    return text + (f"  dep = {dep}\n" if dep else "")
