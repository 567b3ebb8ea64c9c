"""How things are run on this machine, as far as earlier parts have found out. Every way out that was taken is a line of the journal."""
import json


class Situation:
    """`dry`: everything on the CPU back end, in the smallest sizes."""

    def __init__(self, bench, dry, folder):
        self.bench, self.dry, self.folder = bench, dry, folder
        self.tried = []

    def decided(self, name):
        line = self.bench.journal.find("decision", name)
        return line["value"] if line else None

    def decide(self, name, value, why):
        if self.decided(name) != value:
            self.bench.say(f"decision: {name} = {value}, because {why}")
            self.bench.journal.add("decision", name, value=value, why=why)

    @property
    def numbers(self):
        """Of runs whose speed or bits count: bf16, unless it was found wrong on this machine."""
        return [] if self.dry or self.decided("numbers") == "float32" else ["--numbers", "bf16"]

    @property
    def graphs(self):
        return ["--no-graphs"] if self.decided("graphs") == "off" and not self.dry else []

    @property
    def environment(self):
        connections = self.decided("connections")
        return {"CUDA_DEVICE_MAX_CONNECTIONS": connections} if connections else {}

    @property
    def measured(self):
        """Options of `profile`, and with `train` of `train`."""
        return ["--backend", "cpu"] if self.dry else ["--backend", "cuda", *self.graphs]

    @property
    def parts(self):
        """Options that give every virtual device multiprocessors of its own."""
        return [] if self.dry else ["--device-sms", "8"]

    @property
    def trained(self):
        return [*self.measured, *(["--executor", "streams"] if self.dry else [])]

    def train(self, *words, limit=40, flags=None, environment=None):
        """Trains on the back end: (document, "") or (None, why not). Whoever does not give `flags` takes those decided on."""
        path = self.bench.work / "train.json"
        path.unlink(missing_ok=True)
        flags = self.trained if flags is None else flags
        done = self.bench.plumbline("train", *words, *flags, *([] if "serial" in flags else self.bench.watchdog(limit)), "--json", path, limit=limit,
                                    environment={**self.environment, **(environment or {})})
        if not done.fine:
            return None, "out of time" if done.status == 124 else f"exit status {done.status}, see log.txt"
        return json.loads(path.read_text()), ""
