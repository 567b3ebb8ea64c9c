"""The run and its figures (§5, §6, §9) of the second simulator; see second_simulator.py."""

from second_actions import nearest

CAUSES = ["warmup", "drain", "compute", "transfer_latency", "transfer_bandwidth", "transfer_queue", "collective", "memory", "overhead",
          "unknown"]


class Run:
    """When everything happens."""

    def __init__(self, sim):
        self.sim, self.mode, self.steps = sim, sim.case["mode"], sim.steps
        self.needs_post = self.mode not in ("buffered", "fifo")
        offered = lambda m: m.giver if self.mode == "buffered" else m.issue
        self.queues = [sorted(c, key=lambda m: (offered(m), m.index)) if self.mode == "buffered" else c for c in sim.channels.values()]
        for queue in self.queues:
            for m in queue:
                m.offered_by, m.queue = offered(m), queue
        self.batches = self.make_batches() if self.mode == "batched" else []
        if self.mode == "pair-fifo":
            self.make_fronts()
        self.costs, self.posted_before = sim.runtime, set()
        while True:  # until every call that sends is as long as §5.7 says
            self.run()
            posted = {m for m in sim.messages if m.posted is not None and m.called is not None and m.posted < m.called}
            if posted == self.posted_before:
                break
            self.posted_before = posted
        self.hangs = self.next != sim.begin[1:]
        if not self.hangs:
            self.makespan = max([s.end for s in self.steps] + [c["end"] for c in sim.collectives])

    def run(self):
        sim = self.sim
        self.next, self.phase = list(sim.begin[:-1]), [0] * sim.devices
        self.clock = [0] * sim.devices
        for m in sim.messages:
            m.posted = m.start = m.done = m.available = m.sent = m.called = None
        for s in self.steps:
            s.start = s.end = None
        for c in sim.collectives:
            c["end"], c["left"] = None, len(c["members"])
        for batch in self.batches:
            batch["left"], batch["end"] = len(batch["sends"]) + len(batch["receives"]), 0
        progress = True
        while progress:
            progress = any([self.advance(d) for d in range(sim.devices)]) | any([self.pump(q) for q in self.queues])

    def call(self, d, unit):  # §5.7
        calls = [m for m in self.sim.messages if m.a == d and self.steps[m.offered_by].unit == unit.at and m.called is None]
        for m in sorted(calls, key=lambda m: m.offered_by):
            m.called = self.clock[d]
            if m.copy is None:
                self.clock[d] += self.call_time("send_posted" if not self.needs_post or m in self.posted_before else "send", m)

    def call_time(self, what, m):  # §5.7
        sizes = self.costs["calls"]
        if not sizes:
            return 0
        above = [i for i, size in enumerate(sizes) if size["bytes"] >= m.size]
        high = above[0] if above else len(sizes) - 1
        one, two = sizes[max(0, high - 1)] if high else sizes[0], sizes[high]
        ns = one[what]
        if two["bytes"] > one["bytes"]:
            ns += nearest((two[what] - ns) * (m.size - one["bytes"]), two["bytes"] - one["bytes"])
        return max(0, ns) * self.sim.ticks

    def sending(self, m):
        if m.copy is not None:
            return m.size
        rate = self.sim.case["routes"][m.a][m.b][1]
        return nearest(m.size * 10**9 * self.sim.ticks, rate) if rate else 0

    def latency(self, m):
        return 0 if m.copy is not None else self.sim.case["routes"][m.a][m.b][0] * self.sim.ticks

    def make_batches(self):  # §6.8
        places = {}
        for m in self.sim.values:
            places.setdefault((m.a, m.b, self.steps[m.issue].behind), ([], []))[0].append(m)
            places.setdefault((m.b, m.a, m.post), ([], []))[1].append(m)
        batches = [{"sends": s, "receives": r, "left": len(s) + len(r), "end": 0} for s, r in places.values() if s and r]
        for batch in batches:
            for m in batch["sends"]:
                m.send_batch = batch
            for m in batch["receives"]:
                m.receive_batch = batch
        return batches

    def make_fronts(self):  # §6.9
        ends = {}
        for m in self.sim.values:
            ends.setdefault((m.a, m.b), []).append((self.steps[m.issue].behind, 0, m.index, m))
            ends.setdefault((m.b, m.a), []).append((m.post, 1, m.index, m))
        for queue in ends.values():
            queue.sort(key=lambda e: e[:3])
            for one, two in zip(queue, queue[1:]):
                two[3].fronts.append(one[3])

    def advance(self, d):
        sim, moved = self.sim, False
        while self.next[d] < sim.begin[d + 1]:
            unit = self.steps[self.next[d]]
            members = self.steps[unit.at:unit.behind]
            if self.phase[d] == 0:
                issued = [m for m in sim.values if m.a == d and self.steps[m.issue].behind == unit.at]
                if self.mode == "blocking":
                    if any(m.available is None for m in issued):
                        return moved
                    self.clock[d] = max([self.clock[d]] + [m.available for m in issued])
                unit.reached = self.clock[d]
                self.post(unit, True)
            if self.phase[d] <= 1:
                self.phase[d] = 1
                sends = [m for m in sim.messages if m.a == d and unit.at <= m.waited < unit.behind]
                if any(m.sent is None for m in sends):
                    return moved
                self.clock[d] = max([self.clock[d]] + [m.sent for m in sends])
                unit.posted = self.clock[d]
                self.post(unit, False)
                self.clock[d] += sum(self.costs.get(s.op.lower().replace("r", "f"), 0) for s in members)
                self.phase[d], moved = 2, True
            over = [self.over(w) for s in members for w in s.waits]
            if None in over:
                return moved
            start = max([self.clock[d]] + over)
            for s in members:
                s.start, s.end = start, start + unit.time
                for c in sim.joins.get(s.at, []):
                    collective = sim.collectives[c]
                    collective["left"] -= 1
                    if not collective["left"]:
                        collective["end"] = max(self.steps[m].end for m in collective["members"]) + collective["time"]
            self.clock[d], self.next[d], self.phase[d], moved = start + unit.time, unit.behind, 0, True
            self.call(d, unit)
        return moved

    def post(self, unit, batched):
        for m in sorted(self.sim.messages, key=lambda m: m.post):
            if unit.at <= m.post < unit.behind and m.posted is None and (m.receive_batch is not None) == batched:
                self.clock[unit.device] += self.call_time("receive", m) if m.copy is None and self.needs_post else 0
                m.posted = self.clock[unit.device]

    def over(self, wait):  # §5.2
        kind, what = wait
        if kind == "message":
            return self.sim.messages[what].available
        if kind == "collective":
            return self.sim.collectives[what]["end"]
        end = self.steps[what].end
        return end if end is None or kind == "end" else end + self.sim.comm

    def pump(self, queue):  # §6.7
        moved, free = False, 0
        for m in queue:
            if m.done is not None:
                free = m.done
                continue
            offered = m.called
            posted = m.posted if self.needs_post and m.copy is None else 0
            if offered is None or posted is None or any(f.done is None for f in m.fronts):
                return moved
            m.start = max([offered, free, posted] + [f.done for f in m.fronts])
            m.done = free = m.start + self.sending(m)
            moved = True
            for batch, at in ((m.send_batch, m.done), (m.receive_batch, m.done + self.latency(m))):
                if batch is None:
                    continue
                batch["left"] -= 1
                batch["end"] = max(batch["end"], at)
                if not batch["left"]:
                    for other in batch["sends"]:
                        other.sent = batch["end"]
                    for other in batch["receives"]:
                        other.available = batch["end"]
            if m.send_batch is None:
                m.sent = m.done
            if m.receive_batch is None:
                m.available = m.done + self.latency(m)
        return moved

    # §9.3
    def split(self, gap, at, end, pieces):
        left = max(0, end - at)
        for cause, length in pieces:
            part = min(max(0, length), left)
            gap[cause] += part
            left -= part
        return max(at, end)

    def receive_pieces(self, m):
        alone, far = self.sending(m), 10**30
        return [("transfer_queue", m.available - m.done - self.latency(m)), ("transfer_latency", self.latency(m)), ("transfer_bandwidth", alone),
                ("transfer_queue", m.done - alone - m.called), ("overhead", m.called - self.steps[m.offered_by].end),
                ("transfer_queue", self.steps[m.offered_by].end - self.steps[m.giver].end), ("compute", far)]

    def causes(self, before, unit):
        gap, at, far = dict.fromkeys(CAUSES, 0), before.end, 10**30
        if self.mode == "blocking":
            for m in self.sim.values:
                if before.unit <= m.issue < before.behind:
                    at = self.split(gap, at, m.available, self.receive_pieces(m))
        for m in self.sim.messages:
            if m.a == unit.device and unit.at <= m.waited < unit.behind:
                pieces = [("transfer_queue", m.sent - m.done), ("transfer_bandwidth", self.sending(m)), ("transfer_queue", far)]
                at = self.split(gap, at, m.sent, pieces if m.copy is None else [("memory", far)])
        waits = [(self.over(w), w) for s in self.steps[unit.at:unit.behind] for w in s.waits]
        last = max(waits, key=lambda w: w[0], default=(0, None))
        if last[0] > at:
            kind, what = last[1]
            message = self.sim.messages[what] if kind == "message" else None
            if message is not None and message.copy is not None:
                pieces = [("memory", far)]
            elif message is not None:
                pieces = self.receive_pieces(message)
            else:
                pieces = {"latency": [("transfer_latency", self.sim.comm or 0)], "end": [],
                          "collective": [("collective", self.sim.collectives[what]["time"] if kind == "collective" else 0)]}[kind] + [("compute", far)]
            at = self.split(gap, at, last[0], pieces)
        gap["overhead"] += unit.start - at
        return gap

    # §9.1, §9.2
    def figures(self):
        sim, out = self.sim, {"makespan": self.makespan, "ticks_per_ns": self.sim.ticks, "devices": []}
        for d in range(sim.devices):
            units = [s for s in self.steps[sim.begin[d]:sim.begin[d + 1]] if s.unit == s.at]
            causes = dict.fromkeys(CAUSES, 0)
            for before, unit in zip(units, units[1:]):
                gap = self.causes(before, unit)
                unit.waited_for = max(CAUSES[3:] + ["compute"], key=lambda c: gap[c]) if unit.start > before.end else None
                for cause, ticks in gap.items():
                    causes[cause] += ticks
            first, last = (units[0].start, units[-1].end) if units else (0, 0)
            causes["warmup"], causes["drain"] = first, self.makespan - last
            useful = 0
            for unit in units:
                useful += unit.time - unit.useless
                for member in self.steps[unit.at:unit.behind]:
                    member.useful_until = useful
            out["devices"].append({"busy": sum(u.time for u in units), "useful": useful, "first": first, "last": last,
                                   "causes": [causes[c] for c in CAUSES]})
        devices, span = out["devices"], self.makespan
        out["longest"] = max(x["last"] - x["first"] for x in devices)
        out["bubble_fraction"] = (len(devices) * span - sum(x["busy"] for x in devices)) / (len(devices) * span) if span else 0
        out["bubble_rate"] = (out["longest"] - max(x["busy"] for x in devices)) / out["longest"] if out["longest"] else 0
        out["utilization"] = sum(x["useful"] for x in devices) / (len(devices) * span) if span else 0
        out["updates"] = 1 if sim.forward else max(1, sim.count // sim.pace[0])
        marks = [self.marks(d) for d in range(sim.devices)]
        full = [m for m in marks if m]
        out["step_time"] = span
        if out["updates"] > 1 and full:
            out["step_time"] = nearest(max(m[-1][0] for m in full) - max(m[0][0] for m in full), out["updates"] - 1)
        updates = range(out["updates"])
        if any(sim.policy(s, u) != "flush" for s in range(sim.stages) for u in list(updates) + [10**9]):
            out["step_time"] = nearest(span, out["updates"])
            steady = self.steady(marks)
            if steady:
                times = [m[-1][0] - m[0][0] for m in steady]
                out["utilization"] = sum(m[-1][1] - m[0][1] for m in steady) / sum(times)
                out["step_time"] = max(nearest(time * len(every), (len(m) - 1) * out["updates"])
                                       for time, m, every in zip(times, steady, marks))
        return out

    def marks(self, d):
        """End and useful time of every update of a device, and whether a forward starts after it."""
        lane, marks = self.steps[self.sim.begin[d]:self.sim.begin[d + 1]], {}
        for s in lane:
            if s.op == "U":
                marks[s.number] = (s.end, s.useful_until, any(f.op == "F" for f in self.steps[s.at:self.sim.begin[d + 1]]))
        return sorted(marks.values())

    @staticmethod
    def steady(marks):
        """Of every device the updates that count, from the first to the last; None without any."""
        same_pace = len({len(m) for m in marks}) == 1
        marks = [m[:[x[2] for x in m].index(False)] if False in [x[2] for x in m] else m for m in marks]
        if any(len(m) < 2 for m in marks):
            return None
        count = None
        if same_pace:
            gaps = [[(b[0] - a[0], b[1] - a[1]) for a, b in zip(m, m[1:])] for m in marks]
            many = min(map(len, gaps))
            for q in range(1, min(64, many // 2) + 1):
                run = 0
                while run + q < many and all(g[-1 - run] == g[-1 - run - q] for g in gaps):
                    run += 1
                if run >= q:
                    count = (run + q) // q * q
                    break
        counted = [m[len(m) - 1 - count:] if count else m for m in marks]
        return counted if any(m[-1][0] > m[0][0] for m in counted) else None
