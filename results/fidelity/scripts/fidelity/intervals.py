"""How well a median of step times is known when steps of one run resemble each other more than those of different runs."""
import itertools
import random
import statistics

RESAMPLES = 1000
BLOCK = 4  # consecutive steps that are drawn together


def quantile(values, share):
    """By linear interpolation between the sorted values."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def block_bootstrap(runs, seed=0, share=0.95):
    """Interval of the median over `runs` (lists of step times): whole runs are drawn with replacement, and inside of each blocks of consecutive steps.

    The spread between runs is so part of the interval; drawing single steps of one run would leave it out. With three runs the
    interval can be no wider than from the slowest run to the fastest.
    """
    draw = random.Random(seed)
    medians = []
    for _ in range(RESAMPLES):
        steps = []
        for run in draw.choices(runs, k=len(runs)):
            length = min(BLOCK, len(run))
            begins = (draw.randrange(len(run) - length + 1) for _ in range(-(-len(run) // length)))
            steps += list(itertools.chain.from_iterable(run[begin:begin + length] for begin in begins))[:len(run)]
        medians.append(statistics.median(steps))
    return quantile(medians, (1 - share) / 2), quantile(medians, (1 + share) / 2)


def between_runs(runs):
    """(largest - smallest) median of a run, relative to the median of them."""
    medians = [statistics.median(run) for run in runs]
    return (max(medians) - min(medians)) / statistics.median(medians)
