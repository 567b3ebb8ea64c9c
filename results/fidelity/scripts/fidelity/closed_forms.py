"""Step times by the formulas that papers print, from one time per operation: what a reader has without a simulator.

A step is the work of the busiest device plus the bubble of the paper, plus the longest update. `Work` holds seconds, or any other
unit, per microbatch and device (all stages of a device together).
"""
from dataclasses import dataclass


@dataclass
class Work:
    devices: int
    microbatches: int
    forward: float  # means over the devices
    input_grad: float
    weight_grad: float
    busiest: float  # forward and backward of the device that has most
    update: float = 0.0
    chunks: int = 1  # stages of a device
    slices: int = 1  # parts of a sequence

    @property
    def all(self):
        return self.forward + self.input_grad + self.weight_grad


BUBBLES = {
    "gpipe": lambda w: (w.devices - 1) * w.all,  # Huang et al. (arXiv 1811.06965), section 2.3
    "1f1b": lambda w: (w.devices - 1) * w.all,  # Narayanan et al. (arXiv 2104.04473), section 2.2.1
    "interleaved": lambda w: (w.devices - 1) * w.all / w.chunks,  # the same, section 2.2.2
    "zb-h1": lambda w: (w.devices - 1) * (w.forward + w.input_grad - w.weight_grad),  # Qi et al. (arXiv 2401.10241), comparison with 1F1B
    "zb-v": lambda w: (w.devices - 1) * (w.forward + w.input_grad - 2 * w.weight_grad) / 2,  # table of the STP repository (arXiv 2510.27257), per chunk
    "chimera": lambda w: (w.devices / 2 - 1) * w.all,  # Li and Hoefler (arXiv 2107.06925), table 2: (D - 2) of 2N + D - 2 passes
    "seq1f1b": lambda w: (w.devices - 1) * w.all / w.slices,  # Sun et al. (arXiv 2406.03488)
    "pipemare": lambda w: 0,  # Yang et al. (arXiv 1910.05124): never flushed
}


def step(schedule, work):
    """Time of a step, or None where no formula is printed for this schedule."""
    bubble = BUBBLES.get(schedule)
    return None if bubble is None else work.microbatches * work.busiest + bubble(work) + work.update
