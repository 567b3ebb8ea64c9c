"""What follows: the paper's statements beside what we find, and when to take PipeMare."""
import functools
import math
from concurrent.futures import ThreadPoolExecutor

import plumbline
import study_tools as tools
from figures import Figures, Mean, best_figures, figures_of, quality_text, quality_title, stable_rates
from models import SLOTS, most_activations, utilization, weight_bytes

MOMENTUM = 0.9  # of SGD in the studies, and beta1 of Adam
PIPEMARE = ["t1", "t1-t2", "t1-t2-t3"]
FLUSH_FREE = ["t1", "t1-t2"]  # without updates that are flushed, so that a factor of updates is one of time
STAGES = [8, 16, 33, 43, 93, 107]  # a machine, two of them, and what the paper and our tasks have
WORTH_A_TRY = 1.1  # what PipeMare has to save at best
SAME_QUALITY = 0.009  # the difference that the paper calls the same quality, in points of accuracy (BLEU there)
KEYWORDS = {"-p": "devices", "-m": "microbatches", "--opt": "opt", "--method": "method", "--network": "network",
            "--partition": "partition", "--samples": "samples", "--sequence": "sequence"}


def options_of(command):
    """The schedule of a `train` command, what `simulate` is asked of it, and all its options by name."""
    words = command.split()[1:]
    given = {}
    for option, value in zip(words[1::2], words[2::2]):
        given.setdefault(option, []).append(value)
    asked = {KEYWORDS[option]: values if option == "--opt" else values[0]
             for option, values in given.items() if option in KEYWORDS}
    return words[0], asked, {option: values[0] for option, values in given.items()}


def is_asynchronous(command):
    return "timing=slots" in command


@functools.lru_cache(maxsize=None)
def first_delay(command):
    """Delay of the first stage in updates; 0 for synchronous schedules."""
    name, asked, _ = options_of(command)
    if not is_asynchronous(command):
        return 0.0
    size = {key: asked[key] for key in ("devices", "microbatches", "opt")}
    delays = plumbline.simulate(name, cost="F=1,B=1", spans=False, **size).summary["delays"]
    return float(delays[0]["tau_fwd"])


@functools.lru_cache(maxsize=None)
def trained_bytes(command):
    """Bytes of weights, their versions and corrections, gradients and optimizer state of all stages, under a command."""
    name, asked, given = options_of(command)
    kept = [each for each in asked.pop("method", "").split(",") if each and not each.startswith("t3:")]
    run = plumbline.simulate(name, cluster=f"a100-{-(-int(asked['devices']) // 8)}x8", precision="single", spans=False,
                             method=",".join(kept) or None, **asked)
    return weight_bytes(run.summary, 1 if given.get("--optimizer") == "sgd" else 2)


@functools.lru_cache(maxsize=None)
def stability_bound(tau):
    """By what factor a delay lowers the largest stable rate of one weight with a quadratic loss."""
    answer = plumbline.ask({"ask": "stability", "methods": ["delay+momentum"], "momentum": MOMENTUM, "tau": f"0,{tau}",
                            "most": 1000, "want": ["study"]})
    rates = answer["study"]["methods"][0]["largest_stable_rate"]
    return rates[-1] / rates[0]


class UpdateTimes:
    """Time of an update over that without idle time: GPipe, 1F1B, ZB-H1 (which has the memory of 1F1B) and PipeMare."""

    def __init__(self, stages, microbatches):
        time = lambda name, *options: 1 / utilization(name, stages, microbatches, *options)
        self.gpipe, self.one_f_one_b, self.zb_h1 = time("gpipe"), time("1f1b"), time("zb-h1")
        self.pipemare = time("pipemare", SLOTS)


update_times = functools.lru_cache(maxsize=None)(UpdateTimes)


def time_to_target(of, times):
    updates = of.to_target.mean
    if not is_asynchronous(of.method.arguments):
        return updates * times.gpipe
    flushed = float(of.task.words.get("W", 0)) if "t3:" in of.method.arguments else 0.0
    flushed = min(updates, flushed)
    return flushed * times.gpipe + (updates - flushed) * times.pipemare


def currency_rows(study, task):
    """The same quality in three currencies: updates to the target, simulated time to it at several numbers of stages
    over that of the first method, and that time times the bytes of weights."""
    head = ["method", "updates to the target", "x GPipe's", *[f"t, P = {p}" for p in STAGES], "bytes of weights",
            "t x bytes, P = 43"]
    figures = best_figures(study, task)
    first = figures_of(figures, study.first.name)
    if first is None or not first.mostly_reached:
        return head, []
    command = lambda of: of.method.command(task, of.setting)
    microbatches = int(options_of(command(first))[1]["microbatches"])
    times = [update_times(p, microbatches) for p in STAGES]
    rows = []

    def add(name, of, flushed=None):
        share = lambda at: ((of.to_target.mean * flushed(at) if flushed else time_to_target(of, at)) /
                            time_to_target(first, at))
        shares = [share(at) for at in times]
        size = trained_bytes(command(of)) / trained_bytes(command(first))
        rows.append([name, tools.fixed(of.to_target.mean, 0), tools.fixed(of.to_target.mean / first.to_target.mean, 2),
                     *[tools.fixed(each, 2) for each in shares], tools.fixed(size, 2) + "x",
                     tools.fixed(size * shares[STAGES.index(43)], 2)])

    add(first.method.title + " (GPipe)", first, lambda at: at.gpipe)
    add(first.method.title + ", 1F1B", first, lambda at: at.one_f_one_b)
    add(first.method.title + ", zero-bubble (ZB-H1)", first, lambda at: at.zb_h1)
    for of in figures:
        if of is not first and of.mostly_reached:
            add(of.method.title, of)
        elif of is not first:
            rows.append([of.method.title, "not reached by most runs", *[""] * (len(head) - 2)])
    return head, rows


class Factor:
    """What staleness cost on one task: how many times the updates of the first method were needed to the target. Where
    it was not reached, the factor is what was given: at least that."""

    def __init__(self, task, delay=0.0, factor=0.0, reached=False):
        self.task, self.delay, self.factor, self.reached = task, delay, factor, reached


def measured_factors(study, names):
    """For each task whose first method has found its best rate and reaches the target there: the factor of the better of
    the methods, by their delay, ascending. Rates that are not bracketed do not count."""
    measured = []
    for task in study.tasks:
        figures = best_figures(study, task)
        first = figures_of(figures, study.first.name)
        if first is None or not first.bracketed or not first.mostly_reached:
            continue
        best = Factor(task)
        for of in filter(None, (figures_of(figures, name) for name in names)):
            if not of.bracketed:
                continue
            command = of.method.command(task, of.setting)
            best.delay = first_delay(command)
            if of.mostly_reached:
                factor = of.to_target.mean / first.to_target.mean
                best.factor = min(best.factor, factor) if best.reached else factor
                best.reached = True
            elif not best.reached:
                best.factor = int(options_of(command)[2]["--steps"]) / first.to_target.mean
        if best.factor > 0:
            measured.append(best)
    return sorted(measured, key=lambda at: at.delay)


def factors_text(measured):
    return ", ".join(f"{'' if at.reached else 'more than '}{at.factor:.2f}x at a delay of {at.delay:.1f} "
                     f"({at.task.name})" for at in measured)


def needed_updates(delay, measured):
    """What PipeMare needs at a delay, at least and at most (None: not known), by the nearest delays that were measured on
    both sides: staleness never helps, so the shorter delay gives a least and the longer one a most."""
    least, most = 1.0, None
    for at in measured:
        if at.delay <= delay:  # more than a factor that was not enough says nothing about less
            least = max(at.factor, 1.0 if at.reached else least)
        if at.delay >= delay and at.reached and most is None:
            most = max(at.factor, least)
    return least, most


def needed_text(least, most):
    if most is None:
        return f"at least {least:.2f}x"
    return ("" if f"{least:.2f}" == f"{most:.2f}" else f"{least:.2f} to ") + f"{most:.2f}x"


PRACTICE_HEAD = ["P", "N", "update: 1F1B", "ZB-H1", "ZB-H2", "PipeMare", "stashes: 1F1B", "ZB-H2", "PipeMare",
                 "updates that PipeMare may need", "its delay", "updates that it needed", "2BW's delay", "take"]


@functools.lru_cache(maxsize=None)
def simulated_case(stages, n):
    """Times of an update, of ZB-H2, and stashes of 1F1B, ZB-H2 and PipeMare."""
    stashes = lambda name, *options: most_activations(name, stages, n, *options)
    return (update_times(stages, n), 1 / utilization("zb-h2", stages, n), stashes("1f1b"), stashes("zb-h2"),
            stashes("pipemare", SLOTS))


def practice_row(stages, n, measured):
    times, zb_h2, stashes_1f1b, stashes_zb_h2, stashes = simulated_case(stages, n)
    best = min(times.one_f_one_b, times.zb_h1, zb_h2)
    # Of equally fast ones the one with less memory.
    synchronous = "1F1B" if times.one_f_one_b <= best else "ZB-H1" if times.zb_h1 <= best else "ZB-H2"
    break_even, delay = best / times.pipemare, (2 * stages - 1) / n
    least, most = needed_updates(delay, measured)
    pipemare = f"PipeMare, with {tools.number_text(stashes / stashes_1f1b, 2)}x the activations of 1F1B"
    if break_even <= least:
        take = synchronous
    elif break_even < WORTH_A_TRY * least:
        take = f"{synchronous}, PipeMare gains {100 * (1 - least / break_even):.0f} % at most"
    elif most is not None and break_even > most:
        take = pipemare
    else:
        take = f"try both: {pipemare}, or {synchronous}"
    return [str(stages), str(n), *[tools.fixed(each, 2) for each in (times.one_f_one_b, times.zb_h1, zb_h2,
                                                                     times.pipemare)],
            *map(tools.number_text, (stashes_1f1b, stashes_zb_h2, stashes)), f"up to {break_even:.2f}x",
            f"{delay:.1f}", needed_text(least, most), str(-(-(2 * stages - 1) // n)), take]


def practice_rows(measured):
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda case: practice_row(*case, measured),
                             [(p, n) for p in (8, 16, 43, 107) for n in (8, 32, 128, 512)]))


def bound_text(command, tau):
    if any(name in command for name in ("spectrain", "pipeoptim", "xpipe")):
        return "not for predicted weights"
    bound = stability_bound(math.floor(tau + 0.5))
    after = tools.number_text(bound, 2) + "x"
    if "t1:" in command and tau > 1:
        return f"{tools.number_text(bound * tau, 2)}x at the start, {after} after K"
    return after


def _rate_text(rate, whole, none):
    """A rate, and what share of `whole` it is."""
    if rate is None:
        return none
    return rate if whole is None else f"{rate} ({tools.number_text(float(rate) / float(whole), 2)}x)"


def _highest_to_target(study, task, method):
    """The highest rate at which most runs reach the target."""
    rates = [rate for rate in task.all_rates if Figures(study, task, method, method.rule(task, rate)).mostly_reached]
    return rates[-1] if rates else None


def stability_rows(study, task):
    """By method: up to which rate it is stable and from which one it diverges, both as a share of the first method's, the
    delay of its first stage, and what the theory's bound leaves of the synchronous rate with that delay."""
    head = ["method", "no divergence up to", "diverges from", "reaches the target up to",
            "delay of the first stage, updates", "bound of the theory, of the synchronous rate"]
    first, first_reached = stable_rates(study, task, study.first), _highest_to_target(study, task, study.first)
    rows = []
    for method in study.methods:
        best = study.best_rate(task, method)
        if best is None:
            continue
        highest, diverged = stable_rates(study, task, method)
        command = method.command(task, method.rule(task, best))
        tau, never = first_delay(command), "no rate that was tried"
        rows.append([method.title, _rate_text(highest, first[0], "none tried"), _rate_text(diverged, first[1], never),
                     _rate_text(_highest_to_target(study, task, method), first_reached, never), tools.fixed(tau, 2),
                     bound_text(command, tau)])
    return head, rows


def variant_rows(study, task):
    """Other K and D at the best rate of each method, where they were run."""
    head = ["method", "rate", "K", "D", "seeds", quality_title(task), "diverged"]
    rows = []
    for method in study.methods:
        best = study.best_rate(task, method)
        others = [] if best is None else method.others(task, best)
        for setting in [method.rule(task, best), *others] if others else []:
            of = Figures(study, task, method, setting)
            if of.runs:
                rows.append([method.title + ("" if setting in others else " (the paper's rule)"), setting.rate,
                             setting.k or "-", setting.d or "-", str(of.runs), quality_text(task, of.quality),
                             str(of.diverged)])
    return head, rows


def clock_rows(study, task, cluster):
    """Every method of a task at its best rate, simulated on a cluster: the time of its updates, and that to the target."""
    head = ["method", "time per update", "utilization", "fullest device", "time to target"]
    rows = []
    for of in best_figures(study, task):
        name, asked, given = options_of(of.method.command(task, of.setting))
        updates = int(given["--steps"])
        if is_asynchronous(of.method.arguments):
            asked["updates"] = updates
        try:
            run = plumbline.simulate(name, cluster=cluster, spans=False, **asked)
        except plumbline.Error as error:
            rows.append([of.method.title, str(error), "", "", ""])
            continue
        # The pipeline is steady at its end; a synchronous one is so all the time.
        end = run.makespan_ns if "updates" in asked else updates * run.step_time_ns
        reached = "never"
        if of.to_target is not None:
            at = min(max(math.floor(of.to_target.mean + 0.5), 1), updates)
            reached = tools.time_text(math.floor(end - (updates - at) * run.step_time_ns + 0.5))
            if of.to_target.count < of.runs:
                reached += f" ({of.to_target.count} of {of.runs})"
        peak = max(device["peak_memory_bytes"] for device in run.devices)
        rows.append([of.method.title, tools.time_text(math.floor(end / updates + 0.5)),
                     tools.percent_text(run.utilization), tools.bytes_text(peak), reached])
    return head, rows


def missing_lines(study):
    """What the study asks for and the runs lack, in words: one line per task."""
    lines = []
    for task in study.tasks:
        grid, at_best, variants = {}, {}, 0
        for run in study.planned(tasks=[task.name]):
            if run.setting != run.method.rule(task, run.setting.rate):
                variants += 1
                continue
            best = study.best_rate(task, run.method) == run.setting.rate
            counts = at_best if best and run.seed > 0 else grid
            counts[run.method.title] = counts.get(run.method.title, 0) + 1
        parts = [f"{sum(counts.values())} {what} ({', '.join(f'{name} {counts[name]}' for name in sorted(counts))})"
                 for counts, what in ((grid, "runs of the grid over rates"), (at_best, "further seeds at the best rates"))
                 if counts]
        parts += [f"{variants} runs with other K and D"] if variants else []
        if parts:
            lines.append(f"{task.title}: {'; '.join(parts)}")
    return lines


def simulated_text(models, name):
    of = models.figure(name)
    if of is None:
        return "no such figure for this network"
    text = f"{of['formula']:.2f} by the formula"
    return text if of["simulated"] is None else f"{text}, {of['simulated']:.2f} simulated"


def gap_text(of):
    """0.12 ± 0.30 points behind the synchronous run of the same seed, or nats."""
    if of.gap is None:
        return "diverged"
    gap = of.gap.text(100, 2) + " points" if of.task.by_accuracy else of.gap.text(1, 3) + " nats"
    return f"{gap} behind at {of.setting.rate} ({of.runs} {'seed' if of.runs == 1 else 'seeds'})"


BEYOND = ", where the best rate may lie beyond"


def by_task(study, describe):
    """`describe` for every task whose first method has found its best rate. What is compared at a rate that nobody chose
    says nothing."""
    texts = []
    for task in study.tasks:
        figures = best_figures(study, task)
        first = figures_of(figures, study.first.name)
        if first is not None and first.bracketed:
            text = describe(task, figures)
            texts += [f"{task.name}: {text}"] if text else []
    return "; ".join(texts) or "not run yet"


def closest(figures):
    """Of PipeMare's variants that did not diverge, the one that is least behind, first of all of those whose best rate is
    known; None without any."""
    known = [of for of in (figures_of(figures, name) for name in PIPEMARE) if of is not None and of.gap is not None]
    return min(known, key=lambda of: (not of.bracketed, of.gap.mean), default=None)


def ahead_text(study, of, other):
    """By how much a method ends better than another, paired by seed, both at their own best rates; diverged runs count as
    what they came to. Nothing without a common seed."""
    task, ahead = of.task, []
    for run in study.at(task, of.method, of.setting):
        same = next((each for each in study.at(task, other.method, other.setting) if each.seed == run.seed), None)
        if run.points and same is not None and same.points:
            more = task.quality(run.points[-1]) - task.quality(same.points[-1])
            ahead.append(100 * more if task.by_accuracy else -more)
    if not ahead:
        return ""
    amount = Mean(ahead).text(1, 2) + " points" if task.by_accuracy else Mean(ahead).text(1, 3) + " nats"
    return f"{of.method.title} is ahead of {other.method.title} by {amount}"


class Statements:
    """What the paper says, what we find, and where that differs, why."""

    HEAD = ["the paper says", "we find", "why"]

    def __init__(self, models, study):
        self.study = study
        self.rows = []
        self._of_models(models)
        self._of_quality()

    def _add(self, claim, found, why):
        self.rows.append([claim, found, why])

    def _of_models(self, models):
        text = functools.partial(simulated_text, models)
        self._add("Up to 2.7x less memory than PipeDream (weights, gradients, optimizer)",
                  f"ResNet-50 in 107 stages, N = 8, without T2: {text('memory-pipedream')} of mean delays, "
                  f"{text('memory-pipedream-newest')} of whole versions; with T2 {text('memory-pipedream-t2')}",
                  "The formula counts mean delays. A stash holds whole versions and the newest beside them, so the "
                  "simulator, which counts buffers, finds a larger factor (model.md). With T2, PipeMare keeps a fourth "
                  "copy and the factor is that of the first version of the paper, 2.0.")
        self._add("4.3x the pipeline utilization of GPipe", f"P = 107, N = 32: {text('utilization-n32')}",
                  "The factor is (N + P - 1) / N and says nothing about 1F1B or zero-bubble with more microbatches; N is "
                  "not published with it.")
        self._add("14.3x (MLSys page)", f"P = 107, N = 8: {text('utilization-n8')}",
                  "The same formula at N = 8, the cell that also has the 2.7x. It is a factor of utilization.")
        self._add("Recompute lowers the activations from P^2 to about 2 P^(3/2)",
                  f"P = 107: {text('activations-p107')} of those without recompute",
                  "Simulated stashes count both microbatches of an overlapped pair.")

    def _of_quality(self):
        study = self.study
        self._add("The quality of synchronous training (within 0.9 points; IWSLT BLEU 34.5 of 34.5, CIFAR alike)",
                  by_task(study, self._within),
                  "Every method here has its own best rate and the same number of updates. Our tasks are small and our "
                  "runs short; the paper trains for epochs, where a slow start is made up for.")
        self._add("Asynchronous training without corrections fails; T1 is necessary for convergence",
                  by_task(study, self._gaps("naive", "t1")),
                  "Where naive training is within reach of T1, it is because it chose a lower rate: T1 divides the rate "
                  "of early stages by their delay, which a lower base rate does for all stages. The paper keeps the "
                  "synchronous rate for all methods.")
        self._add("What all three corrections are for: to train asynchronously at all",
                  by_task(study, self._ahead_of_naive),
                  "Each at its own best rate, paired by seed. An interval that holds 0 says that our seeds do not show "
                  "that the corrections help where naive training may choose its rate.")
        self._add("Fine-grained PipeDream does not learn the Transformer (BLEU 0.0)",
                  by_task(study, self._gaps("pipedream")),
                  "A stash makes gradients consistent but not younger. Our PipeDream has a rate of its own, the paper's "
                  "that of synchronous training.")
        self._add("T2 closes the rest of the gap", by_task(study, self._gaps("t1", "t1-t2")),
                  "T2 repairs the discrepancy between forward and backward weights. It matters where that discrepancy "
                  "limits the rate, and costs one more copy of the weights.")
        self._add("Some synchronous updates first (T3) help where T1 and T2 do not suffice",
                  by_task(study, self._gaps("t1-t2", "t1-t2-t3")),
                  "T3 gives the start the synchronous rate. Its updates cost the utilization of GPipe (table of "
                  "currencies).")
        self._add("Delays cost learning rate, as O(1/tau) (section 3)", by_task(study, self._stable),
                  "The bound is for one weight and a quadratic loss; it is beside the grid. A network has many "
                  "curvatures, and Adam rescales each, so only the order of the methods can be compared.")

    @staticmethod
    def _within(task, figures):
        best = closest(figures)
        if best is None:
            return "every PipeMare run diverged"
        text = f"{best.method.title} {gap_text(best)}" + ("" if best.bracketed else BEYOND)
        if not task.by_accuracy:
            return text
        if best.gap.half_width is None:
            return text + ", too few seeds for an interval"
        within = best.gap.mean + best.gap.half_width <= SAME_QUALITY
        return text + (", within" if within else ", not shown to be within")

    def _gaps(self, *names):
        def describe(task, figures):
            found = filter(None, (figures_of(figures, name) for name in names))
            return ", ".join(f"{of.method.title} {gap_text(of)}" + ("" if of.bracketed else BEYOND)
                             for of in found) + self._at_first_rate(task, names[0])
        return describe

    def _at_first_rate(self, task, name):
        """What a method comes to at the best rate of the first method; nothing where it was not run there."""
        study = self.study
        method = next((method for method in study.methods if method.name == name), None)
        rate = study.best_rate(task, study.first)
        of = Figures(study, task, method, method.rule(task, rate)) if method and rate is not None else None
        if of is None or of.runs == 0:
            return ""
        reached = quality_text(task, of.quality) + (" %" if task.by_accuracy else " nats") if of.gap else "diverged"
        return f" (at the synchronous {rate}: {reached})"

    def _ahead_of_naive(self, _, figures):
        naive = figures_of(figures, "naive")
        found = [of for of in (figures_of(figures, name) for name in PIPEMARE)
                 if of is not None and naive is not None and of.bracketed and naive.bracketed]
        return ", ".join(filter(None, (ahead_text(self.study, of, naive) for of in found)))

    def _stable(self, task, _):
        texts = []
        for method in self.study.methods:
            highest, diverged = stable_rates(self.study, task, method)
            if method.name in (self.study.first.name, "naive", "pipedream", "t1-t2") and (highest or diverged):
                texts.append(f"{method.title} {highest or 'at no rate'}")
        return "no divergence up to " + ", ".join(texts)


def short_gaps(task, figures):
    """1.57 points (naive 9.66): how far the best variant of PipeMare, and naive training, end behind; at most, where a
    better rate may lie beyond those that were tried."""
    def text(of):
        if of is None:
            return "not run"
        if of.gap is None:
            return "diverged"
        gap = tools.fixed(of.gap.mean * (100 if task.by_accuracy else 1), 1 if task.by_accuracy else 2)
        return gap if of.bracketed else "at most " + gap
    best = closest(figures)
    unit = "" if best is None else " points" if task.by_accuracy else " nats"
    return f"{text(best)}{unit} (naive {text(figures_of(figures, 'naive'))})"


def answer(study):
    """In three sentences: what each method loses at its best, what the corrections buy, when it pays."""
    def short_rates(_, figures):
        first = figures_of(figures, study.first.name)
        def share(of):
            if of is None or not of.bracketed:
                return "not known"
            return tools.number_text(float(of.setting.rate) / float(first.setting.rate), 2)
        return f"{share(closest(figures))} (naive {share(figures_of(figures, 'naive'))})"
    measured = measured_factors(study, FLUSH_FREE)
    pays = "How many more updates PipeMare needs was not measured."
    if measured:
        pays = ("PipeMare (the better of T1 and T1 + T2) needs more updates to the target than synchronous training, by "
                f"the delay of its first stage: {factors_text(measured)}; so it pays only where 1F1B and zero-bubble "
                "idle more than that.")
    return ("How far the best variant of PipeMare ends behind synchronous training, each at its own best learning rate "
            f"and after as many updates, beside naive asynchronous training: {by_task(study, short_gaps)}. The learning "
            "rate at which it does best, as a share of the synchronous one: "
            f"{by_task(study, short_rates)}. {pays}")


def page(models, study, clusters=()):
    """practice.md, in the order in which a reader asks. `clusters`: instead of those that the study names."""
    tasks = [task for task in study.tasks if study.has_runs(task)]

    def per_task(title, note, rows_of):
        text = f"## {title}\n\n{note}\n\n"
        for task in tasks:
            head, rows = rows_of(study, task)
            if rows:
                text += f"### {task.title}\n\n" + tools.markdown(head, rows) + "\n"
        return text

    text = "# PipeMare in practice\n\nWritten by `./plumbline reproduce pipemare`.\n\n## The answer\n\n"
    text += answer(study) + "\n\n## The paper's statements\n\n"
    text += "Yang et al., PipeMare, arXiv 1910.05124, MLSys 2021.\n\n"
    text += tools.markdown(Statements.HEAD, Statements(models, study).rows) + "\n"
    text += ("## When to take PipeMare today\n\nP stages, N microbatches per update. Update: simulated time over that "
             "without idle time, forward and backward equally long (2BW: the same). Stashes: of one stage and microbatch, "
             "on the fullest device. PipeMare pays where it needs fewer times the updates than the best synchronous "
             "schedule loses to idle time. Needed: what the better of T1 and T1 + T2 needed to the target in our runs with "
             "the nearest shorter and longer delay of the first stage, (2P - 1) / N updates (on different tasks). 2BW "
             f"needed {factors_text(measured_factors(study, ['2bw']))}. PipeMare's weights take 1 copy (T1) or one more "
             "(T2), those of 2BW one more for each update of delay.\n\n")
    text += tools.markdown(PRACTICE_HEAD, practice_rows(measured_factors(study, FLUSH_FREE))) + "\n"
    text += per_task("Updates, time and bytes to the target",
                     "Time t relative to that of GPipe at P stages. Updates as measured at the task's own number of stages "
                     "(with fewer stages delays are shorter, so asynchronous methods would need fewer); times are "
                     "simulated with the task's N.", currency_rows)
    text += per_task("Rates and the bound of the theory",
                     "Up to which rate each method is stable, and what the bound of `plumbline stability` (one weight, "
                     "quadratic loss, momentum 0.9) leaves of the synchronous rate with its delay.", stability_rows)
    text += "## Time on clusters\n\nUpdates as trained here, the time of each as simulated on the cluster.\n\n"
    for task in tasks:
        for cluster in clusters or task.clusters:
            text += f"### {task.title}, on {cluster}\n\n" + tools.markdown(*clock_rows(study, task, cluster)) + "\n"
    text += per_task("Other K and D", "At each method's best rate.", variant_rows)
    lines = missing_lines(study) or ["nothing: the study is complete"]
    return text + "## What was not run\n\n" + "".join(f"* {line}\n" for line in lines)
