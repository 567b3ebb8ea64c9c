"""Lanes, times, waits and messages (§2 to §7) of the second simulator; see second_simulator.py."""
from fractions import Fraction
from math import gcd

from second_actions import Message, PASSES, Step, nearest, parse, unfold


class Simulator:
    def __init__(self, case):
        self.case, self.doc = case, case["document"]
        doc = self.doc
        self.devices, self.stages, self.count = doc["num_devices"], doc["num_stages"], doc["num_microbatches"]
        self.forward = doc.get("mode") == "forward"
        pace = doc["microbatches_per_update"]
        self.pace = pace if isinstance(pace, list) else [pace] * self.stages
        self.times, self.memory, self.ticks = case["times"], case["memory"], case["ticks_per_ns"]
        self.comm, self.units = case["comm"], case["memory_units"]
        self.runtime = case["runtime"]
        self.places = doc["placement"]
        self.holders = [(r, s, d) for r, rep in enumerate(self.places) for s, ds in enumerate(rep) for d in ds]
        edges = doc.get("stage_edges", [[s, s + 1] for s in range(self.stages - 1)])
        self.before = [sorted(a for a, b in edges if b == s) for s in range(self.stages)]
        self.after = [sorted(b for a, b in edges if a == s) for s in range(self.stages)]
        self.first = [self.first_stage(s) for s in range(self.stages)]
        self.segment = [(False, False)] * self.stages  # takes from, passes to a neighbour in its segment
        for rule in doc.get("recompute", []):
            if rule.get("segment"):
                low, high = rule["stages"]
                for s in range(low, high + 1):
                    self.segment[s] = (s > low, s < high)
        self.cut_parts()
        self.make_lanes()
        self.make_collectives()
        self.make_waits()
        self.make_messages()

    # §10.1
    def first_stage(self, stage):
        return min((self.first_stage(s) for s in self.before[stage]), default=stage)

    # §4.2
    def cut_parts(self):
        sizes = self.doc.get("microbatch_sizes") or [1] * self.count
        rows = self.doc.get("slices", {"lengths": [[1]]})["lengths"]
        rows = rows if isinstance(rows[0], list) else [rows]
        self.causal = self.doc.get("slices", {}).get("axis") == "sequence"
        self.parts = []
        for k in range(self.count):
            row, at = rows[k if len(rows) > 1 else 0], 0
            self.parts.append([])
            for length in row:
                self.parts[k].append((sizes[k], max(sizes), at, at + length, sum(row)))
                at += length
        shapes = {p for parts in self.parts for p in parts}
        keys = [k for k in ("f", "b", "i", "w", "r", *(x + y for x in "fbiw" for y in ("_comm", "_shown")))]
        if len(shapes) > 1:
            figures = [t[k] for t in self.times for k in keys] + [v for t in self.times for v in t["pairs"].values()]
            self.divide_ticks(self.whole_factor(figures, shapes))
            if self.units:
                factor = self.whole_factor([x[0] for m in self.memory for x in m["stash"]], shapes)
                self.units *= factor
                self.memory = [dict(m, stash=[[x[0] * factor, *x[1:]] for x in m["stash"]]) for m in self.memory]
        factor, amounts = 1, [self.extra(name) for name in self.doc.get("extras", {})]
        for t in self.times:  # §4.6
            for amount in amounts:
                if isinstance(amount, Fraction):
                    factor *= amount.denominator // gcd(amount.denominator, t["x"] * amount.numerator * factor)
        self.divide_ticks(factor)

    @staticmethod
    def whole_factor(figures, shapes):
        factor = 1
        for _, largest, _, _, whole in shapes:
            for figure in figures:
                factor *= largest * whole // gcd(largest * whole, figure * factor)
        return factor if factor <= 2**30 and max(figures, default=0) * factor <= 2**48 else 1

    def divide_ticks(self, factor):
        self.ticks *= factor
        self.comm = None if self.comm is None else self.comm * factor
        self.runtime = {key: v if key == "calls" else v * factor for key, v in self.runtime.items()}
        self.times = [{k: {p: x * factor for p, x in v.items()} if k == "pairs" else v * factor for k, v in t.items()} for t in self.times]

    def extra(self, name):
        work = self.doc.get("extras", {}).get(name, 1)
        if isinstance(work, dict) and "time_ns" in work:
            return work["time_ns"]
        if isinstance(work, dict) and "teacher" in work:
            return Fraction(work["teacher"][1] - work["teacher"][0])
        units = float(work if not isinstance(work, dict) else work.get("units", 1))
        near = Fraction(units).limit_denominator(10**6)
        return near if near.numerator / near.denominator == units else units

    def taught(self, step):
        """The microbatches of a teacher's forward; of other steps none."""
        work = self.doc.get("extras", {}).get(f"X{step.number}") if step.op == "X" else None
        return range(*work["teacher"]) if isinstance(work, dict) and "teacher" in work else range(0)

    def share(self, part, amount):
        size, largest, begin, end, whole = part
        return nearest(amount * size * end, largest * whole) - nearest(amount * size * begin, largest * whole)

    def all_parts(self, step):
        for k in step.microbatches():
            for j in range(len(self.parts[k])) if step.cut is None else [step.cut]:
                yield k, j, self.parts[k][j]

    def total(self, step, amount):  # §4.3
        return sum(self.share(part, amount) for _, _, part in self.all_parts(step))

    # §3
    def make_lanes(self):
        lists = [list(unfold(items)) for items in self.doc["devices"]]
        group_lists = self.doc.get("reduce_groups") or [list(range(self.devices))]
        self.groups = []
        for stage in range(self.stages):
            for devices in group_lists:
                group = [h for h in self.holders if h[1] == stage and h[2] in devices]
                if len(group) > 1 and not self.forward:
                    self.groups.append((stage, group))
        self.grouped = {h for _, group in self.groups for h in group}
        self.explicit = {(s.stage, k) for actions in lists for s in actions if s.op == "R" for k in s.microbatches()}
        self.steps, self.begin, self.sends, self.recvs = [], [], [], []
        for device, actions in enumerate(lists):
            self.begin.append(len(self.steps))
            for step in self.with_updates(device, actions):
                holder = (step.rep, step.stage, device)
                if step.op.startswith("SEND") or step.op.startswith("RECV"):
                    (self.sends if step.op[0] == "S" else self.recvs).append((step, len(self.steps), device))
                elif step.op in ("UNSHARD", "RESHARD") or (step.op == "REDUCE_GRAD" and holder not in self.grouped):
                    continue
                else:
                    for part in range(2 if step.op == "SYNC_WEIGHTS" else 1):
                        one = step if part == 0 else step.shifted({"microbatch": 0, "update": 0, "slice": 0})
                        one.device, one.at, one.holder = device, len(self.steps), holder
                        one.again = self.is_dropped(one)
                        self.steps.append(one)
        self.begin.append(len(self.steps))
        for step in self.steps:
            second = step.at > self.begin[step.device] and self.steps[step.at - 1].first_half
            step.unit = step.at - second  # first member
            step.behind = step.unit + (2 if self.steps[step.unit].first_half else 1)
            step.fresh = any(s.op == "F" and s.holder == step.holder for s in self.since_update(step)) if step.op == "V" else False
        for step in self.steps:
            if step.unit == step.at:
                self.set_time(step)

    def since_update(self, step):
        for at in range(step.at - 1, self.begin[step.device] - 1, -1):
            if self.steps[at].op == "U" and self.steps[at].holder == step.holder:
                return
            yield self.steps[at]

    def phase_policy(self, update):
        for phase in self.doc["weights"].get("phases", []):
            if update < phase["updates"]:
                return phase["policy"]
            update -= phase["updates"]
        return None

    def policy(self, stage, update):
        policy = self.doc["weights"]["policy"]
        return self.phase_policy(update) or (policy[stage] if isinstance(policy, list) else policy)

    def with_updates(self, device, actions):  # §3.2
        held = [h for h in self.holders if h[2] == device]
        has = {(s.rep, s.stage, s.op) for s in actions}
        no_update = {h for h in held if (h[0], h[1], "U") not in has}
        no_reduce = {h for h in held if h in self.grouped and (h[0], h[1], "REDUCE_GRAD") not in has}
        if self.forward or not no_update | no_reduce:
            return actions
        turns, left = {h: 0 for h in held}, {}

        def parts(step):
            holder = (step.rep, step.stage, device)
            if step.op == "REDUCE_GRAD":
                turns[holder] += 1
                return [(holder, turns[holder] - 1)]
            return [(holder, k // self.pace[step.stage]) for k in step.microbatches()] if step.op in ("B", "W") else []

        for step in actions:
            for key in parts(step):
                left[key] = left.get(key, 0) + 1
        turns.update({h: 0 for h in held})
        out, finished = [], []
        for step in actions:
            out.append(step)
            for key in parts(step):
                left[key] -= 1
                if not left[key]:
                    finished.append(key)
            if step.first_half:
                continue
            done = set()
            new = lambda h, op, number: out.append(Step(h[0], h[1], op, number, 1, None, None))
            for holder, _ in finished:
                if holder in no_reduce:
                    new(holder, "REDUCE_GRAD", None)
            for holder, update in finished:
                flush = {h for h in held if self.policy(h[1], update) == "flush"}
                if holder not in flush:
                    if holder in no_update:
                        new(holder, "U", update)
                elif update not in done and not any(left.get((h, update)) for h in flush):
                    done.add(update)
                    for h in held:
                        if h in flush & no_update:
                            new(h, "U", update)
            finished = []
        return out

    def is_dropped(self, step):  # §4.4
        if step.number is None or not (step.op in ("F", "B", "I") or step.copy):
            return False
        if (step.stage, step.number) in self.explicit:
            return not step.backward
        for rule in self.doc.get("recompute", []):
            which = rule["microbatches"] if "microbatches" in rule else "all"
            last = step.number % self.pace[step.stage] == self.pace[step.stage] - 1
            if rule["stages"][0] <= step.stage <= rule["stages"][1]:
                if which == "all" or (which == "except_last" and not last) or (isinstance(which, list) and step.number in which):
                    return True
        return False

    # §4
    def alone(self, step):
        """Time, folded recompute, communication, the part of it that is in the time."""
        t, speed = self.times[step.stage], self.case["speeds"][step.device]
        scaled = lambda x: x if speed == 1 else int(x / speed + 0.5)
        if step.op == "X":
            amount = self.extra(f"X{step.number}")
            exact = isinstance(amount, int)
            return scaled(amount * self.ticks if exact else int(amount * t["x"] + Fraction(1, 2))), 0, 0, 0
        if not step.named:
            return scaled(t["u"] if step.op == "U" else 0), 0, 0, 0
        total = lambda key: self.total(step, t[key])
        again = total("r") if step.again and step.backward else 0
        own = {"R": "f"}.get(step.op, step.op.lower())
        c, u = total(own + "_comm"), total(own + "_shown")
        if step.again and step.backward:
            c, u = c + total("f_comm"), u + total("f_shown")
        return scaled(total(step.op.lower()) + again), scaled(again), scaled(c), scaled(u)

    def set_time(self, step):
        t1, r1, c1, u1 = self.alone(step)
        step.useless = t1 if step.op in "RX" else r1
        step.time = t1
        if not step.first_half:
            return
        other = self.steps[step.at + 1]
        t2, r2, c2, u2 = self.alone(other)
        key = "".join(sorted(step.op + other.op, key=(PASSES + "X").index))
        given = [self.total(s, self.times[s.stage]["pairs"].get(key, 0)) if s.named and s.count == 1 else 0 for s in (step, other)]
        step.time = max(t1 - u1 + t2 - u2, c1 + c2, t1, t2)
        if all(given):
            speed = self.case["speeds"][step.device]
            mean = (sum(given) + 1) // 2
            step.time = (mean if speed == 1 else int(mean / speed + 0.5)) + r1 + r2
        repeated = sum(t for s, t in ((step, t1), (other, t2)) if s.op in "RX")
        step.useless = min(step.time, r1 + r2 + (nearest(step.time * repeated, t1 + t2) if repeated else 0))

    # §5.4, §5.5
    def make_collectives(self):
        self.collectives, self.joins, self.extra_waits = [], {}, {}
        of = lambda op, holder: [s.at for s in self.steps if s.op == op and s.holder == holder]

        brought = {s for edge in self.doc.get("extra_edges", []) for what in edge[2:] for s in what.get("gradients", [])}

        def add(stage, members, size):
            ring = sorted({self.steps[m].device for m in members})
            time, routes = self.times[stage]["all_reduce"], self.case["routes"]
            if not time and len(ring) > 1 and routes:
                hops = [routes[a][b] for a, b in zip(ring, ring[1:] + ring[:1])]
                slowest = max(float(h[0]) + (size / len(ring) / h[1] * 1e9 if h[1] else 0) for h in hops)
                time = int(2.0 * (len(ring) - 1) * slowest * self.ticks + 0.5)
            if stage in brought:
                time = 0
            for m in members:
                self.joins.setdefault(m, []).append(len(self.collectives))
            self.collectives.append({"members": members, "time": time, "end": None, "left": len(members)})

        for stage in range(self.stages):
            memory = self.memory[stage] if self.memory else {"gradient": 0, "weight": 0}
            for _, group in (g for g in self.groups if g[0] == stage):
                reduces, updates = [of("REDUCE_GRAD", h) for h in group], [of("U", h) for h in group]
                for k in range(len(reduces[0])):
                    for mine in updates:
                        if mine:
                            self.extra_waits.setdefault(mine[k], []).append(("collective", len(self.collectives)))
                    add(stage, [r[k] for r in reduces], memory["gradient"])
            if self.forward:
                continue
            syncs = [of("SYNC_WEIGHTS", h)[::2] for h in self.holders if h[1] == stage]
            first = len(self.collectives)
            for k in range(len(syncs[0])):
                for mine in syncs:
                    target = k - self.doc["weights"].get("sync_distance", 0)
                    if target >= 0:
                        self.extra_waits.setdefault(mine[k] + 1, []).append(("collective", first + target))
                add(stage, [m[k] for m in syncs], memory["weight"])

    # §5.2
    def make_waits(self):
        giver = {}
        for step in self.steps:
            if step.op in "FBIR":
                for k, j, _ in self.all_parts(step):
                    giver["B" if step.backward else step.op, step.stage, k, j] = step.at
        self.extra_edges, by_text = {}, {s.text(): s.at for s in self.steps}
        for edge in self.doc.get("extra_edges", []):
            before, after = (by_text[parse(e)[0].text()] for e in edge[:2])
            carried = None  # §5.3: bytes, of each edge for itself
            for what in edge[2:]:
                carried = sum(self.memory[s][kind[:-1]] for kind, stages in what.items() for s in stages) if self.memory else 0
            self.extra_edges.setdefault(after, []).append((before, carried))
        plain = "latency" if self.comm else "end"
        for step in self.steps:
            stages, op = [], "B" if step.backward else step.op
            if step.op == "F" or step.backward:
                stages = self.after[step.stage] if step.backward else self.before[step.stage]
            elif step.op == "R" and self.segment[step.stage][0]:
                stages = [step.stage - 1]
            sources = []
            for k, j, _ in self.all_parts(step) if stages else []:
                for s in stages:
                    source = giver[op, s, k, j]
                    if self.steps[source].device != step.device and source not in sources:
                        sources.append(source)
                    if "stage_edges" in self.doc and self.steps[source].device == step.device:
                        self.beside(self.steps[source], step, (k, j))
            step.waits = [["message" if self.case["routes"] else plain, s] for s in sources]
            step.values = sources
            step.waits += [list(w) for w in self.extra_waits.get(step.at, [])]
        for load in (s for s in self.steps if s.op == "LOAD"):  # §7.3
            for reader in self.steps[load.at + 1:self.begin[load.device + 1]]:
                if self.reads(reader, load):
                    reader.waits.append(["load", load.at])
                    break
        for after, edges in self.extra_edges.items():
            step = self.steps[after]
            far = [(b, c) for b, c in sorted(edges, key=lambda e: e[0]) if self.steps[b].device != step.device]
            teacher = lambda b: self.taught(self.steps[b]) and self.taught(step)
            step.values = step.values + [b for b, _ in far if teacher(b)]
            for b, c in far:
                message = self.case["routes"] and (c is not None or teacher(b))
                step.waits.append(["message", b, c] if message else [plain, b])

    def beside(self, giver, taker, part):
        first = lambda step: next((k, j) for k, j, _ in self.all_parts(step))
        giver.given += part == first(giver)
        taker.taken += part == first(taker)

    @staticmethod
    def reads(step, load):
        if (step.stage, step.rep) != (load.stage, load.rep):
            return False
        if load.number is None:
            return step.op in ("F", "I", "B", "R", "U")
        return step.op in ("I", "B", "W", "R") and load.number in step.microbatches() and step.cut in (None, load.cut or 0)

    # §6, §7
    def make_messages(self):
        self.messages = []
        pending = sorted((w[1], s.at, i) for s in self.steps for i, w in enumerate(s.waits) if w[0] == "message")
        for giver, taker, i in pending:
            g, t = self.steps[giver], self.steps[taker]
            size = 0
            carried = t.waits[i].pop() if len(t.waits[i]) > 2 else None
            for k, j, part in self.all_parts(g) if self.memory and carried is None else []:
                if k in t.microbatches() and t.cut in (None, j):
                    size += self.share(part, self.memory[g.stage]["input_grad" if g.backward else "output"])
            if self.memory and self.taught(g):
                size = len(self.taught(g)) * self.memory[g.stage]["output"]
            m = Message(giver, taker, size if carried is None else carried, g.device, t.device)
            m.buffered = carried is None
            m.wait, m.send = t.waits[i], self.explicit_at(self.sends, g, t, t.device)
            if m.send is not None:
                m.issue = max(giver, self.sends[m.send][1] - 1)
            self.messages.append(m)
        if self.sends:
            self.messages.sort(key=lambda m: (m.issue, -1 if m.send is None else m.send))
        self.make_copies()
        self.channels = {}
        for i, m in enumerate(self.messages):
            m.index, m.wait[1] = i, i if m.copy is None or m.copy.op == "LOAD" else m.wait[1]
            self.channels.setdefault((m.a, m.b) if m.copy is None else (m.a, m.copy.op, m.copy.where), []).append(m)
        self.values = [m for m in self.messages if m.copy is None]
        self.place_receives()
        self.place_send_waits()
        self.make_common_starts()
        self.moved = [0, 0]
        if self.case["routes"] and not self.runs_by_rendezvous():
            self.put_off()

    def explicit_at(self, found, one, other, peer):
        value = (max(one.number, other.number), other.cut if one.cut is None else one.cut)
        any_place = None
        for place, (step, _, _) in enumerate(found):
            op = step.op[-1]
            if (op == one.op or (op == "B" and one.backward)) and step.stage == one.stage and value[0] in step.microbatches() \
                    and (step.cut is None or value[1] is None or step.cut == value[1]):
                if step.where == peer:
                    return place
                any_place = place
        return any_place

    def make_copies(self):
        for device in range(self.devices):
            flying = None
            for step in self.steps[self.begin[device]:self.begin[device + 1]]:
                if not step.copy:
                    continue
                m = Message(step.at, step.at, self.times[step.stage][step.op.lower()], device, device)
                same = flying and [(s.stage, s.rep, s.number, s.cut) for s in (flying.copy, step)]
                if flying and (step.op == "EVICT" or same[0] == same[1]):
                    flying.waited, flying = step.at, None
                m.copy, m.post, m.waited, m.wait = step, step.at, self.begin[device + 1], [None, None]
                for taker in self.steps:
                    for wait in taker.waits:
                        if wait == ["load", step.at]:
                            m.taker, m.waited, m.wait = taker.at, taker.unit, wait
                            wait[0] = "message"
                flying = m if step.op == "EVICT" else flying
                step.copied = m
                self.messages.append(m)

    def place_receives(self):  # §6.4
        rounds, placing = {}, self.case["receives"]
        if placing == "on-send":
            at, sent, progress = list(self.begin[:-1]), set(), True
            while progress:
                progress = False
                for d in range(self.devices):
                    if at[d] == self.begin[d + 1]:
                        continue
                    behind = self.steps[at[d]].behind
                    if any(w[0] == "message" and w[1] < len(self.values) and w[1] not in sent for s in self.steps[at[d]:behind] for w in s.waits):
                        continue
                    progress, at[d] = True, behind
                    for m in self.values:
                        if m.a == d and m.issue < behind and m.index not in sent:
                            sent.add(m.index)
                            rounds[m.index] = at[m.b]
        bound = {}
        for m in reversed(self.values):
            taker = self.steps[m.taker].unit
            place = self.explicit_at(self.recvs, self.steps[m.taker], self.steps[m.giver], m.a)
            if place is not None:
                want = min(taker, self.recvs[place][1])
            elif placing == "on-send":
                want = min(rounds.get(m.index, m.taker), m.taker)
            else:
                want, at = taker, taker
                while placing == "ahead" and at > self.begin[m.b]:
                    at = self.steps[at - 1].unit
                    if self.steps[at].op in "FBIWRUVX":
                        want = at
                        break
            want = self.steps[want].unit if want < self.begin[m.b + 1] else want
            m.post = bound[m.a, m.b] = min(want, bound.get((m.a, m.b), want))

    def place_send_waits(self):  # §6.5
        for channel in self.channels.values():
            flying = []
            for m in (m for m in channel if m.copy is None):
                m.waited = self.begin[m.a + 1]
                flying.append(m)
                if len(flying) > max(1, self.case["send_buffers"]):
                    oldest = flying.pop(0)
                    oldest.waited = min(oldest.waited, max(self.steps[m.giver].unit, self.steps[oldest.issue].behind))

    # §5.8
    def make_common_starts(self):
        groups = {s: i for i, stages in enumerate(self.doc.get("start_together", [])) for s in stages}
        starts = {}
        for step in self.steps:
            if step.stage in groups and (step.op == "F" or step.backward):
                key = (groups[step.stage], step.rep, step.backward, step.number, step.cut)
                starts.setdefault(key, []).append(step)
        self.common = {step.at for members in starts.values() for step in members}
        own = {at: [list(wait) for wait in self.steps[at].waits] for at in self.common}
        for members in starts.values():
            for step in members:
                for other in members:
                    before = other.at - 1
                    units = [["end", self.steps[before].unit]] if before >= self.begin[other.device] else []
                    for kind, what in own[other.at] + units if other is not step else []:
                        earlier = kind == "end" and self.steps[what].device == step.device and what < step.at
                        if not earlier and [kind, what] not in step.waits:
                            step.waits.append([kind, what])
        for m in self.values:
            self.pass_common(m)

    def pass_common(self, m):
        while m.waited < self.begin[m.a + 1] and m.waited in self.common:
            m.waited = self.steps[m.waited].behind

    def runs_by_rendezvous(self):  # §6.6
        at, posted, progress = list(self.begin[:-1]), [False] * self.devices, True
        there = lambda step: at[self.steps[step].device] > step
        has_post = lambda m: at[m.b] > m.post or (posted[m.b] and m.post < self.steps[at[m.b]].behind)
        while progress:
            progress = False
            for d in range(self.devices):
                while at[d] < self.begin[d + 1]:
                    behind = self.steps[at[d]].behind
                    if not posted[d]:
                        if any(m.a == d and at[d] <= m.waited < behind and not has_post(m) for m in self.values):
                            break
                        posted[d] = progress = True
                    waits = [w for s in self.steps[at[d]:behind] for w in s.waits]
                    if not all(there(self.messages[w[1]].issue) if w[0] == "message" else
                               all(map(there, self.collectives[w[1]]["members"])) if w[0] == "collective" else there(w[1]) for w in waits):
                        break
                    at[d], posted[d], progress = behind, False, True
        return at == self.begin[1:]

    def ranks(self):
        rank, open_steps = {}, [s for s in self.steps]
        while open_steps:
            left = []
            for s in open_steps:
                needs = [s.at - 1] if s.at > self.begin[s.device] else []
                for kind, w in s.waits:
                    needs += [self.messages[w].issue] if kind == "message" else self.collectives[w]["members"] if kind == "collective" else [w]
                if all(n in rank for n in needs):
                    rank[s.at] = max((rank[n] + 1 for n in needs), default=0)
                else:
                    left.append(s)
            if len(left) == len(open_steps):
                raise ValueError("lanes wait for each other whatever messages do")
            open_steps = left
        return rank

    def put_off(self):
        rank, need, bound = self.ranks(), {}, {}
        for m in self.values:
            key = (m.b, m.a, m.post)
            need[key] = min(need.get(key, rank[m.taker]), rank[m.taker])
        for m in reversed(self.values):
            was = m.post
            m.post = min(m.post, bound.get((m.a, m.b), m.post))
            least = need.get((m.a, m.b, self.steps[m.issue].behind))
            if least is not None and rank[m.post] >= least:
                later = next(at for at in range(self.begin[m.b], m.post + 1) if rank[at] >= least)
                if later != self.begin[m.b]:
                    m.post = self.steps[later - 1].unit
            bound[m.a, m.b] = m.post
            self.moved[1] += m.post != was
        for m in self.values:
            was = m.waited
            while m.waited < self.begin[m.a + 1] and (rank[m.waited] <= rank[m.post] or m.waited in self.common):
                m.waited = self.steps[m.waited].behind
            self.moved[0] += m.waited != was

    def buffers_used(self):
        most = 0
        for channel in self.channels.values():
            for m in (m for m in channel if m.copy is None):
                at = self.steps[m.giver].unit
                most = max(most, sum(self.steps[o.giver].unit <= at < o.waited for o in channel if o.copy is None))
        return most
