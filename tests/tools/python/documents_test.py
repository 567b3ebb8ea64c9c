#!/usr/bin/env python3
"""Tests that figures in documents are those of simulations and of the tables in results/.

    PYTHONPATH=BUILD/python tests/tools/python/documents_test.py
"""
import pathlib
import re
import unittest

import plumbline

SOURCE = pathlib.Path(__file__).resolve().parents[3]


def table_rows(path, heading):
    """The rows of the table whose first cell is `heading`, as lists of cells without backticks."""
    rows, inside = [], False
    for line in (SOURCE / path).read_text().split("\n"):
        cells = [cell.strip().strip("`") for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            inside = False
        elif cells[0] == heading:
            inside = True
        elif inside and set(line) - set("|-: "):
            rows.append(cells)
    return rows


class ScheduleCosts(unittest.TestCase):
    """The table "Costs" of docs/concepts/schedules.md."""
    SIZES = ((2, 4), (4, 8), (4, 16), (6, 12), (8, 16), (8, 24), (8, 32))
    CHUNKS = 2

    @classmethod
    def setUpClass(cls):
        cls.rows = table_rows("docs/concepts/schedules.md", "schedule")

    def simulated(self, name, p, m, costs):
        chunks = {"chunks": self.CHUNKS} if name == "interleaved" else {}
        return plumbline.simulate(name, devices=p, microbatches=m, cost=costs, delays=True, **chunks)

    def values(self, p, m, costs):
        """What the letters of a formula stand for."""
        values = {"p": p, "m": m, "v": self.CHUNKS}
        values.update((letter, float(value)) for letter, value in (each.split("=") for each in costs.split(",")))
        return {"B": values.get("I", 0) + values.get("W", 0), **values}

    def evaluated(self, formula, values):
        return eval(formula.replace("·", "*"), {"__builtins__": {}}, values)

    def each(self):
        for name, costs, idle, stashes, _ in self.rows:
            for p, m in self.SIZES:
                yield (f"{name}, p={p}, m={m}", idle, stashes), self.simulated(name, p, m, costs), self.values(p, m, costs)

    def test_there_is_a_section_for_every_row(self):
        titles = re.findall(r"^## (.*)$", (SOURCE / "docs/concepts/schedules.md").read_text(), re.M)
        known = {title.lower() for title in titles}
        self.assertGreaterEqual(len(self.rows), 12)
        for row in self.rows:
            self.assertIn(row[0], known)

    def test_a_step_takes_the_work_and_the_idle_time_of_the_formula(self):
        for (label, idle, _), run, values in self.each():
            work = values["m"] * (values["F"] + values["B"])
            self.assertAlmostEqual(run.step_time_ns / 1e6, work + self.evaluated(idle, values), msg=label)

    def test_the_fullest_device_holds_as_many_stashes_as_the_formula_says(self):
        for (label, _, stashes), run, values in self.each():
            if stashes == "any limit":
                continue
            stages = {(int(device), int(stage)) for device, stage in zip(run.spans.device, run.spans.stage)}
            copies = len({stage["replica"] for stage in run.summary["delays"]})
            per_device = len(stages) / values["p"] / copies  # every copy of the model has its share of the device
            peak = max(device["peak_activations"] for device in run.devices) / per_device
            self.assertAlmostEqual(peak, self.evaluated(stashes, values), msg=label)

    def test_weights_are_there_as_often_as_the_table_says(self):
        for name, costs, _, _, weights in self.rows:
            with self.subTest(schedule=name):
                p, m = (4, 1) if "p versions" in weights else (4, 8)
                stages = self.simulated(name, p, m, costs).summary["delays"]
                copies = len({stage["replica"] for stage in stages}) * max(stage["copies"] for stage in stages)
                self.assertEqual(copies, p if "p versions" in weights else int(weights.split()[0]))


class AccuracyPage(unittest.TestCase):
    """docs/concepts/accuracy.md and the README against the tables of results/."""
    NAMES = {"NeMo recipes": "nemo", "Megatron-LM, models with experts": "megatron-moe", "BigScience": "bigscience",
             "vTrain, several nodes": "vtrain, several nodes", "vTrain, one node": "vtrain, one node",
             "Vocabulary Parallelism, the authors' second run": "vocabulary-rerun", "Megatron-Bridge": "megatron-bridge",
             "zero-bubble paper": "zero-bubble-paper", "Vocabulary Parallelism": "vocabulary-parallel",
             "SimuMax, B200": "simumax", "Megatron-LM papers": "megatron-papers",
             "Megatron-LM's CI, tiny models": "megatron-lm-ci, tiny"}

    @classmethod
    def setUpClass(cls):
        cls.steps, cls.memory = [
            {row[0]: row for row in table_rows("results/public/README.md", heading)}
            for heading in ("step times, weakest first", "memory: data set")]
        rows = table_rows("docs/concepts/accuracy.md", "source")
        cls.page_steps, cls.page_memory = rows[:len(cls.steps)], rows[len(cls.steps):]
        cls.front = (SOURCE / "README.md").read_text()

    def known(self, source):
        longest = max((name for name in self.NAMES if source.startswith(name)), key=len)
        return self.NAMES[longest]

    def test_the_page_has_every_source_of_published_steps_with_its_error_and_bias(self):
        self.assertEqual([self.known(row[0]) for row in self.page_steps], list(self.steps))
        for source, *figures in self.page_steps:
            self.assertEqual(figures, self.steps[self.known(source)][1:4], source)

    def test_the_page_has_the_errors_of_published_memory(self):
        self.assertGreaterEqual(len(self.page_memory), 5)
        for source, runs, error, bias in self.page_memory:
            row = self.memory[self.known(source)]
            self.assertEqual([runs, error, bias], [row[1], row[2], row[4]], source)

    def test_the_front_page_has_the_range_of_these_errors(self):
        errors = [row[2].split()[0] for row in self.steps.values()]
        self.assertIn(f"{len(errors)} sources | {min(errors, key=float)} to {max(errors, key=float)} % by source", self.front)

    def test_the_error_from_one_trace_is_that_of_all_groups(self):
        (row,) = [row for row in table_rows("results/fidelity/README.md", "group (predicted runs)") if row[0].startswith("all")]
        runs, error, worst = re.sub(r"\D", "", row[0]), row[4], row[5]
        (page,) = [row for row in table_rows("docs/concepts/accuracy.md", "runs") if row[0].startswith("PyTorch")]
        self.assertIn(f"{runs} predicted runs", page[0])
        self.assertEqual(page[2:4], [error, worst])
        self.assertIn(f"{runs} other runs of PyTorch, other schedules | {error} |", self.front)

    def test_the_share_of_fastest_ways_that_are_found_is_that_of_results(self):
        found = {row[0]: row[3] for row in table_rows("results/public/README.md", "ways to run one job (constants left out)")}
        page = " ".join((SOURCE / "docs/concepts/accuracy.md").read_text().split())
        for group in ("zero-bubble-paper", "vtrain", "nemo"):
            self.assertIn(found[group], page)


if __name__ == "__main__":
    unittest.main()
