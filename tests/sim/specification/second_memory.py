"""Memory and versions of weights (§8, §10) of the second simulator; see second_simulator.py."""

CLASSES = ["weights", "weight_versions", "gradients", "optimizer", "kept_for_input_grad", "kept_for_weight_grad", "transfer", "workspace", "evicted"]


class Memory:
    """What is in memory at every position of the lanes (§8), and the versions of weights (§10)."""

    def __init__(self, sim):
        self.sim, self.steps = sim, sim.steps
        self.read, self.kept = self.versions()
        self.made_again = set()

    # §10.1, §10.2
    def versions(self):
        sim, done, latest, forwards, last = self.sim, {}, {}, {}, {}
        for s in self.steps:
            done[s.holder] = done.get(s.holder, 0) + (s.op == "U")
            latest[s.at] = done[s.holder]
            if s.op == "F":
                forwards.update({(s.stage, k, j): latest[s.at] for k, j, _ in sim.all_parts(s)})
            if s.op == "U":
                last[s.holder, done[s.holder] - 1] = s.at
        read, kept = [], {}
        flush = all(sim.policy(st, u) == "flush" for st in range(sim.stages) for u in list(range(sim.count)) + [10**9])
        for s in self.steps:
            version = -1
            if s.op in ("F", "B", "I", "R"):
                policy, version = sim.policy(s.stage, s.number // sim.pace[s.stage]), latest[s.at]
                k, j, _ = next(iter(sim.all_parts(s)))
                if policy == "stash" and s.op != "F":
                    version = forwards[s.stage, k, j]
                elif policy == "vertical_sync":
                    first = sim.first[s.stage]
                    version = forwards[first, k, j] * sim.pace[first] // sim.pace[s.stage]
                elif policy in ("delay", "double_buffer"):
                    version = max(0, s.number // sim.pace[s.stage] - (sim.doc["weights"].get("d", 1) if policy == "delay" else 1))
                if version < latest[s.at]:
                    kept[s.holder, version] = (last[s.holder, version], s.at, False)
            if flush and s.op == "V" and s.fresh:
                kept[s.holder, latest[s.at] - 1] = (last[s.holder, latest[s.at] - 1], s.at, True)
            read.append(version)
        return [] if flush else read, list(kept.values())

    # §10.3
    def delays(self):
        sim, unsteady, parts = self.sim, set(), {h: {} for h in self.sim.holders}
        state = {h: {"updates": 0, "reduced": 0, "backwards": 0, "full": False} for h in sim.holders}
        order = []
        for unit in (s for s in self.steps if s.unit == s.at):
            members = self.steps[unit.at:unit.behind]
            order += sorted(members, key=lambda s: s.backward) if len(members) == 2 and not members[1].backward else members
        flushes = lambda s, k: sim.phase_policy(k // sim.pace[s.stage]) == "flush"
        for s in order:
            now = state[s.holder]
            now["updates"] += s.op == "U"
            now["reduced"] += s.op == "REDUCE_GRAD"
            for k, j, _ in sim.all_parts(s) if s.named else []:
                part, read = parts[s.holder].setdefault((k, j), {}), self.read[s.at] if self.read else now["updates"]
                if s.op == "F":
                    part.update(before=now["backwards"], forward=read)
                    if not now["full"] or flushes(s, k):
                        unsteady.add(k)
                if s.op == "R" or (s.backward and s.again):
                    part["again"] = read
                if s.backward:
                    part.update(distance=now["backwards"] - part["before"], backward=read)
                    now["backwards"] += 1
                    now["full"] = now["full"] or not flushes(s, k)
                part["applied"] = now["updates"] + (now["updates"] < k // sim.pace[s.stage] <= now["reduced"])
        out = []
        for h in sorted(sim.holders):
            steady = {p["applied"] for p in parts[h].values()} - {p["applied"] for (k, _), p in parts[h].items() if k in unsteady}
            counts = [{}, {}, {}, {}]
            for p in parts[h].values():
                if steady and p["applied"] not in steady:
                    continue
                ages = [p.get("distance", 0)] + [p["applied"] - p[key] if key in p else None for key in ("forward", "backward", "again")]
                for count, age in zip(counts, ages):
                    if age is not None:
                        count[age] = count.get(age, 0) + 1
            out.append([*h, [sorted([v, n] for v, n in c.items()) for c in counts], self.most_versions(h)])
        return out

    def most_versions(self, holder):
        alive = most = 1
        kept = [k for k in self.kept if self.steps[k[0]].holder == holder]
        for at in sorted({x for k in kept for x in k[:2]}):
            alive += sum(k[0] == at for k in kept) - sum(k[1] == at for k in kept)
            most = max(most, alive)
        return most

    # §8.5
    def activations(self, d):
        now = most = 0
        for unit in self.units(d):
            members = self.steps[unit.at:unit.behind]
            changes = [self.stash_change(s) for s in members]
            now += self.held_for_others(d, unit) + sum(c[0] for c in changes)
            most = max(most, now)
            now += sum(c[1] for c in changes)
        return most

    def units(self, d):
        return [s for s in self.steps[self.sim.begin[d]:self.sim.begin[d + 1]] if s.unit == s.at]

    def stash_change(self, s):
        sim = self.sim
        if not (s.named or s.copy) or s.number is None:
            return 0, 0
        if sim.units:
            of = lambda maker, reader: sum(sim.total(s, x[0]) for x in sim.memory[s.stage]["stash"] if x[1] == maker and x[2] in reader)
            made, again = of("F", "IW"), of("F", "IW") if s.again else 0
            start, end = {"F": (made, -again), "R": (made, 0), "LOAD": (made - again, 0), "EVICT": (0, again - made), "B": (again, -made),
                          "I": (again + of("I", "W"), -of("F", "I")), "W": (0, -of("F", "W") - of("I", "W"))}[s.op]
        else:
            amount = sum((end - begin) / whole for _, _, (_, _, begin, end, whole) in sim.all_parts(s))
            takes, passes = sim.segment[s.stage]
            first, replay = (0 if takes else 1), (1 if takes or passes else 0)
            start, end = {"F": (first, 0), "LOAD": (first, 0), "R": (replay, 0), "I": (0, 0)}.get(s.op, (0, -first - replay))
            start, end = start * amount, end * amount
        return start, -start if sim.forward else end

    def held_for_others(self, d, unit):
        if not any(s.copy and isinstance(s.where, int) for s in self.steps):
            return 0
        total = 0
        for s, begin, end in self.guests(d):
            total += -self.stash_change(s)[1] * ((unit.at <= begin < unit.behind) - (unit.at <= end < unit.behind))
        return total

    # §8.6
    def guests(self, d):
        rank, sim = self.sim.ranks(), self.sim
        lane = range(sim.begin[d], sim.begin[d + 1])
        place = lambda least: next((self.steps[at].unit for at in lane if rank[at] >= least), sim.begin[d + 1])
        for s in self.steps:
            if s.op == "EVICT" and s.where == d:
                back = [x for x in self.steps[s.at:] if x.op == "LOAD" and (x.stage, x.rep, x.number, x.cut) == (s.stage, s.rep, s.number, s.cut)]
                yield s, place(rank[s.at] + 1), place(rank[back[0].at]) if back else sim.begin[d + 1]

    # §8.2
    def gradient_blocks(self, holder):
        reduced = updated = 0
        for s in self.steps:
            if s.holder != holder:
                continue
            reduced += s.op == "REDUCE_GRAD"
            updated += s.op == "U"
            if s.backward or s.op == "W":
                if any(updated < k // self.sim.pace[s.stage] <= reduced for k, _, _ in self.sim.all_parts(s)):
                    return 2
        return 1

    # §8.3, §8.4
    def peak(self, d):
        sim = self.sim
        now = dict.fromkeys(CLASSES, 0)
        away = {s.holder for s in self.steps if s.op == "LOAD" and s.number is None
                and not any(e.copy and e.number is None and e.holder == s.holder and e.at < s.at for e in self.steps)}
        for place, holder in enumerate(sim.holders):
            if holder[2] != d:
                continue
            m = sim.memory[holder[1]]
            now["weights"] += 0 if holder in away else m["weight"]
            if not sim.forward:
                now["weight_versions"] += m["weight"] * sim.case["corrections"][place]
                now["gradients"] += m["gradient"] * self.gradient_blocks(holder)
                now["optimizer"] += m["optimizer"]
        self.now, self.best = now, (sum(now.values()), dict(now))
        for unit in self.units(d):
            members = self.steps[unit.at:unit.behind]
            for s in members:
                self.just_before(s)
            for s in members:
                self.at_start(s)
            for s in members:
                self.at_end(s)
        return self.best

    def change(self, cls, size):
        self.now[cls] += size
        total = sum(self.now.values())
        if total > self.best[0]:
            self.best = total, dict(self.now)

    def just_before(self, s):
        sim = self.sim
        for m in sim.values:
            if m.buffered and m.a == s.device and m.waited == s.at:
                self.change("transfer", -m.size)
        for m in sim.values:
            if m.buffered and m.b == s.device and m.post == s.at:
                self.change("transfer", m.size)
        for m in sim.messages:
            if m.copy is not None and m.copy.op == "EVICT" and m.a == s.device and m.waited == s.at:
                for cls, size in self.copied(m.copy):
                    self.change(cls, -size)
        if any(x.copy and isinstance(x.where, int) for x in self.steps):
            for sign, which in ((1, 1), (-1, 2)):
                for guest in self.guests(s.device):
                    if guest[which] == s.at:
                        self.change("evicted", sign * sum(size for _, size in self.copied(guest[0])))
        if s.values and not sim.case["routes"]:
            size = sim.memory[s.stage]["output_grad" if s.backward else "input"]
            self.change("transfer", sim.total(s, size) if s.named else size * len(sim.taught(s)))

    def copied(self, s):
        m = self.sim.memory[s.stage]
        if s.number is None:
            return [("weights", m["weight"])]
        part = lambda size: self.sim.total(s, size)
        input_class = "kept_for_weight_grad" if m["input_last"] == "W" else "kept_for_input_grad"
        out = [(input_class, part(m["input"]))] if s.again or m["input_last"] != "F" else []
        if not s.again:
            out += [("kept_for_weight_grad" if x[2] == "W" else "kept_for_input_grad", part(x[0])) for x in m["stash"] if x[1] == "F"]
        return out

    def sizes(self, s):
        m, sim = self.sim.memory[s.stage], self.sim
        size = lambda key: sim.total(s, m[key])
        stash = lambda maker, reader: sum(sim.total(s, x[0]) for x in m["stash"] if x[1] == maker and x[2] == reader)
        return m, size, stash

    def value(self, s, size):
        """The value that a step makes for others: a send buffer each, or one buffer."""
        sent = [m for m in self.sim.values if m.giver == s.at]
        for m in sent:
            self.change("transfer", m.size)
        left = size - sum(m.size for m in sent)
        here = s.given + self.leaves(s)
        if "stage_edges" in self.sim.doc:
            left = size * here if here else max(0, left)
        self.change("transfer", left)

    def added_up(self, s, size):
        """Of the values that several stages give for one, one is left."""
        came = sum(m.size for m in self.sim.values if m.taker == s.at and m.buffered)
        more = came + size * (s.taken + bool(s.values and not self.sim.case["routes"]) - 1)
        if "stage_edges" in self.sim.doc and more > 0:
            self.change("transfer", -more)

    def leaves(self, s):
        return not self.sim.case["routes"] and any(s.at in t.values for t in self.steps)

    def takes_input(self, s, kept):
        m, size, _ = self.sizes(s)
        if kept:
            self.change("transfer", -size("input"))
            self.change("kept_for_weight_grad" if m["input_last"] == "W" else "kept_for_input_grad", size("input"))

    def keeps_input(self, s):
        if self.sim.forward or (s.again and self.sim.segment[s.stage][0]):
            return False
        return s.again or self.sim.memory[s.stage]["input_last"] != "F"

    def add_stash(self, s, sign):
        _, _, stash = self.sizes(s)
        self.change("kept_for_input_grad", sign * stash("F", "I"))
        self.change("kept_for_weight_grad", sign * stash("F", "W"))

    def teacher(self, s, sign):
        m, n = self.sim.memory[s.stage], len(self.sim.taught(s))
        for cls, reader in (("kept_for_input_grad", "I"), ("kept_for_weight_grad", "W")):
            self.change(cls, sign * n * sum(x[0] for x in m["stash"] if x[1:] == ["F", reader]))
        self.change("workspace", sign * n * m["ws_f"])
        return m, n

    def at_start(self, s):
        if self.sim.taught(s):
            m, n = self.teacher(s, 1)
            self.value(s, n * m["output"])
            self.change("transfer", n * m["logits"])
            return
        m, size, stash = self.sizes(s) if s.named else (self.sim.memory[s.stage], None, None)
        takes, passes = self.sim.segment[s.stage]
        if s.op == "LOAD":
            for cls, bytes_ in self.copied(s):
                self.change(cls, bytes_)
        received = "output_grad" if s.backward else "input" if s.op == "F" or (s.op == "R" and takes) else None
        self.added_up(s, size(received) if received else 0)
        if s.op == "F" or (s.op == "R" and takes):
            self.takes_input(s, self.keeps_input(s) if s.op == "F" else True)
        if s.op in ("F", "R") or (s.backward and s.again):
            self.add_stash(s, 1)
        if s.op == "I":
            self.change("kept_for_weight_grad", stash("I", "W"))
        if s.op == "F" or (s.op == "R" and passes):
            self.value(s, size("output"))
        if s.backward:
            self.value(s, size("input_grad"))
        self.workspace(s, 1)
        for begin, _, rollback in self.kept:
            if begin == s.at:
                self.change("weight_versions", m["weight"] + (m["optimizer"] if rollback else 0))

    def workspace(self, s, sign):
        m = self.sim.memory[s.stage]
        if s.op in "FRBIW":
            size = lambda op: self.sim.total(s, m["ws_" + op])
            own = size("f" if s.op == "R" else s.op.lower())
            self.change("workspace", sign * (max(own, size("f")) if s.backward and s.again else own))
        if s.op in "UV":
            self.change("workspace", sign * max(m["ws_u"], m["ws_f"] if s.op == "V" and s.fresh else 0))
        if s.op == "V" and s.fresh:
            self.change("transfer", sign * (m["output"] + m["input"]))

    def at_end(self, s):
        if self.sim.taught(s):
            m, n = self.teacher(s, -1)
            self.change("transfer", -n * m["input"])
            if self.leaves(s):
                self.change("transfer", -n * m["output"])
            return
        if s.op == "F" and any(self.sim.taught(x) for x in self.steps):
            self.change("transfer", -self.sim.total(s, self.sim.memory[s.stage]["logits"]))
        self.workspace(s, -1)
        if s.named:
            self.pass_ends(s)
        for begin, end, rollback in self.kept:
            if end == s.at:
                m = self.sim.memory[self.steps[begin].stage]
                self.change("weight_versions", -m["weight"] - (m["optimizer"] if rollback else 0))

    def pass_ends(self, s):
        m, size, stash = self.sizes(s)
        work = {(s.holder, k, j) for k, j, _ in self.sim.all_parts(s)}
        if s.op == "R":
            self.made_again |= work
        again = s.backward and (s.again or bool(work & self.made_again))
        if s.backward:
            self.made_again -= work
        if s.op == "F" and (s.again or self.sim.forward):
            self.add_stash(s, -1)
        if s.op == "F" and not self.keeps_input(s):
            self.change("transfer", -size("input"))
        if (s.op == "F" or (s.op == "R" and self.sim.segment[s.stage][1])) and self.leaves(s):
            self.change("transfer", -size("output"))
        if s.backward:
            self.change("kept_for_input_grad", -stash("F", "I"))
            if m["input_last"] == "I" or (m["input_last"] == "F" and again):
                self.change("kept_for_input_grad", -size("input"))
            self.change("transfer", -size("output_grad"))
            if self.leaves(s):
                self.change("transfer", -size("input_grad"))
        if s.op in ("B", "W"):
            self.change("kept_for_weight_grad", -stash("F", "W"))
            if m["input_last"] == "W":
                self.change("kept_for_weight_grad", -size("input"))
        if s.op == "W":
            self.change("kept_for_weight_grad", -stash("I", "W"))
