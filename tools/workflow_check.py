#!/usr/bin/env python3
"""Runs the commands of a GitHub workflow, one after another, in a bare system that has nothing of ours:

    tools/workflow_check.py .github/workflows/ci.yml bookworm            # needs root, debootstrap and python3-yaml
    tools/workflow_check.py .github/workflows/release.yml bookworm --steps 5
    tools/workflow_check.py .github/workflows/release.yml                # runs nothing: reads the commands, see `mistakes_in`

The system is what `debootstrap --variant=minbase SUITE` makes, in place of the container that the job names; a checkout is a
clone of this repository's newest commit. Steps that are handed a secret are not run. Prints every step with its seconds; exit
status 1 at the first that fails; 77 without python3-yaml."""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

try:
    import yaml
except ImportError:
    print("skipped: python3-yaml is missing")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[1]
WORKSPACE = "/workspace"
KEYS = {"name", "uses", "with", "run", "env", "if", "id", "shell", "working-directory", "timeout-minutes"}


def steps_of(path):
    """The steps of all jobs; exits where the file is no workflow."""
    workflow = yaml.safe_load(path.read_text())
    if not {True, "jobs"} <= set(workflow):  # YAML 1.1 reads the key `on` as true
        sys.exit(f"{path}: expected the keys 'on' and 'jobs'")
    steps = []
    for name, job in workflow["jobs"].items():
        if "runs-on" not in job:
            sys.exit(f"{path}: job {name}: expected 'runs-on'")
        for step in job["steps"]:
            if ("run" in step) == ("uses" in step) or set(step) - KEYS:
                sys.exit(f"{path}: job {name}: expected 'run' or 'uses' and known keys, found {step}")
            steps.append(step)
    return steps


def mistakes_in(command):
    """What is wrong with a command without running it: its syntax, scripts of ours that are not there or cannot be
    executed, steps that .ci/run and commands that ./plumbline do not have."""
    syntax = subprocess.run(["bash", "-n"], input=command, text=True, capture_output=True)
    found = syntax.stderr.splitlines()
    for script, first in re.findall(r"(?:^|&&|\|\||;|\()\s*((?:\./|\.ci/|tools/)[\w./-]+)(?:[ ]+([\w-]+))?", command, re.MULTILINE):
        path = ROOT / script
        if not os.access(path, os.X_OK):
            found.append(f"{script}: no program of the checkout")
        elif script == ".ci/run" and first and not re.search(rf"^{first}\(\)", path.read_text(), re.MULTILINE) and first != "all":
            found.append(f"{script}: no step {first}")
        elif script == "./plumbline" and first and first not in ("test", "web") and not (ROOT / f"tools/commands/{first}.md").exists():
            found.append(f"{script}: no command {first}")
    return found


def read_commands(steps):
    """Prints the steps with what is wrong with them; whether nothing is."""
    good = True
    for step in steps:
        found = mistakes_in(step["run"]) if "run" in step else []
        good = good and not found
        print("wrong" if found else "right", step.get("run", step.get("uses")).strip(), *found, sep="\n    " if found else ": ")
    return good


class BareSystem:
    def __init__(self, suite, path):
        self.path = pathlib.Path(path)
        subprocess.run(["debootstrap", "--variant=minbase", suite, path], check=True, stdout=subprocess.DEVNULL)
        shutil.copy("/etc/resolv.conf", self.path / "etc/resolv.conf")
        for settings in pathlib.Path("/etc/apt/apt.conf.d").glob("99*"):  # how this machine reaches the archive
            shutil.copy(settings, self.path / "etc/apt/apt.conf.d")
        if f"VERSION_CODENAME={suite}\n" in pathlib.Path("/etc/os-release").read_text():  # with updates, as images have them
            shutil.copytree("/etc/apt/sources.list.d", self.path / "etc/apt/sources.list.d", dirs_exist_ok=True,
                            ignore=lambda _, names: [name for name in names if not name.startswith("debian")])
            (self.path / "etc/apt/sources.list").unlink()
        subprocess.run(["mount", "-t", "proc", "proc", self.path / "proc"], check=True)
        (self.path / WORKSPACE[1:]).mkdir()

    def close(self):
        subprocess.run(["umount", "--recursive", self.path / "proc"], check=True)

    def checkout(self):
        clone = self.path / "source"
        subprocess.run(["git", "clone", "--quiet", "--bare", ROOT, clone], check=True)
        head = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
        return self.run(f"git config --global --add safe.directory '*' && git clone -q /source . && git checkout -q {head}")

    def run(self, command):
        version = re.search(r"project\(plumbline VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
        environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "CI": "true",
                       "GITHUB_REF_NAME": "v" + version, "LANG": "C.UTF-8"}
        return subprocess.run(["chroot", self.path, "/bin/bash", "-c", f"cd {WORKSPACE} && exec bash -e -o pipefail -s"],
                              input=command, text=True, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def try_step(system, step):
    if "secrets." in str(step) or "github.token" in str(step):
        print("not run, as it is handed a secret:", step["run"].split("\n")[0])
        return True
    if "uses" in step and not step["uses"].startswith("actions/checkout@"):
        print("not run:", step["uses"])
        return True
    began = time.monotonic()
    result = system.checkout() if "uses" in step else system.run(step["run"])
    print(f"{'done' if result.returncode == 0 else 'FAILED'} in {time.monotonic() - began:.0f} s: {step.get('run', step.get('uses')).strip()}",
          flush=True)
    if result.returncode != 0:
        print("\n".join(result.stdout.splitlines()[-30:]))
    return result.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workflow", type=pathlib.Path)
    parser.add_argument("suite", nargs="?", help="of Debian: bookworm, trixie; without it nothing is run")
    parser.add_argument("--steps", type=int, help="only so many")
    arguments = parser.parse_args()
    steps = steps_of(arguments.workflow)
    if arguments.suite is None:
        return 0 if read_commands(steps) else 1
    with tempfile.TemporaryDirectory() as folder:
        system = BareSystem(arguments.suite, folder)
        try:
            good = all(try_step(system, step) for step in steps[:arguments.steps])
        finally:
            system.close()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
