"""Actions, lists and messages (§2, §6.1) of the second simulator; see second_simulator.py."""
import re

PASSES = "FBIWR"
ACTION = re.compile(r"(?:(\d+):)?(\d+)(SEND_[FBR]|RECV_[FBR]|REDUCE_GRAD|UNSHARD|RESHARD|SYNC_WEIGHTS|EVICT|LOAD|[FBIWRUVX])"
                    r"(\d+(?:\+\d+)*)?(?:\.(\d+))?(?:[>@](\w+))?$")


def nearest(n, d):  # §1.3
    return (2 * n + d) // (2 * d)


class Step:
    """One action, later one step of a lane."""

    def __init__(self, rep, stage, op, number, count, cut, where):
        self.rep, self.stage, self.op, self.number, self.count, self.cut, self.where = rep, stage, op, number, count, cut, where
        self.first_half = self.again = False  # of a pair; recompute drops its stash or is folded into it
        self.waits, self.start, self.end = [], None, None
        self.values, self.given, self.taken = [], 0, 0  # values of others; values that stay on the device

    def shifted(self, by):  # §2.1
        number = self.number
        if number is not None:
            number += by["update"] if self.op in "UV" else by["microbatch"]
        cut = self.cut if self.cut is None else self.cut + by["slice"]
        one = Step(self.rep, self.stage, self.op, number, self.count, cut, self.where)
        one.first_half = self.first_half
        return one

    def text(self):
        numbers = "" if self.number is None else "+".join(str(self.number + k) for k in range(self.count))
        where = "" if self.where is None else (">" if self.op[1:4] in ("END", "ECV") else "@") + str(self.where)
        return f"{str(self.rep) + ':' if self.rep else ''}{self.stage}{self.op}{numbers}{'' if self.cut is None else '.' + str(self.cut)}{where}"

    def microbatches(self):
        return range(self.number, self.number + self.count)

    backward = property(lambda self: self.op in ("B", "I"))
    named = property(lambda self: self.op in PASSES)
    copy = property(lambda self: self.op in ("EVICT", "LOAD"))


def parse(text):
    pair = re.match(r"\((.*);(.*)\)OVERLAP(_F_B)?$", text)
    if pair:
        both = [parse(pair[1])[0], parse(pair[2])[0]]
        both[0].first_half = True
        return both
    rep, stage, op, numbers, cut, where = ACTION.match(text).groups()
    numbers = numbers.split("+") if numbers else []
    where = int(where) if where and where != "host" else where
    return [Step(int(rep or 0), int(stage), op, int(numbers[0]) if numbers else None, max(1, len(numbers)),
                 int(cut) if cut else None, where)]


def unfold(items):
    for item in items:
        if isinstance(item, str):
            yield from parse(item)
            continue
        by = item["advance"] if isinstance(item["advance"], dict) else {"microbatch": item["advance"], "update": item["advance"]}
        for turn in range(item["repeat"]):
            for step in unfold(item["actions"]):
                yield step.shifted({key: turn * by.get(key, 0) for key in ("microbatch", "update", "slice")})


class Message:
    def __init__(self, giver, taker, size, a, b):
        self.giver, self.taker, self.size, self.a, self.b = giver, taker, size, a, b
        self.issue, self.post, self.waited = giver, None, None  # step, steps before which
        self.posted = self.done = self.available = self.sent = self.start = None
        self.buffered = True
        self.copy, self.order, self.send_batch, self.receive_batch, self.fronts = None, 0, None, None, []
