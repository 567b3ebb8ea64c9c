#!/usr/bin/env python3
"""The analysis of the fidelity experiment, on inputs whose answers are known by hand.

    tests/tools/fidelity/analysis_test.py
"""
import json
import pathlib
import statistics
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "results/fidelity/scripts"))

from fidelity import actions, catalogue, clocks, closed_forms, intervals, journal, pack, predictions, table  # noqa: E402


def timeline(*spans, microbatches=2, updates=1):
    """A document of spans (device, action, begin, end)."""
    return {"num_microbatches": microbatches * updates, "updates": updates,
            "spans": [{"device": d, "lane": "compute", "action": a, "start_ns": b, "end_ns": e} for d, a, b, e in spans]}


class Packed(unittest.TestCase):
    def test_a_folder_comes_back_from_its_pack_and_goes_on_there(self):
        with tempfile.TemporaryDirectory() as place:
            place = pathlib.Path(place)
            with pack.Pack(place / "all.tgz", place / "first"):
                (place / "first" / "log.txt").write_text("one\n")
            with pack.Pack(place / "all.tgz", place / "second"):
                with open(place / "second" / "log.txt", "a") as log:
                    log.write("two\n")
            pack.Pack(place / "all.tgz", place / "third")
            self.assertEqual((place / "third" / "log.txt").read_text(), "one\ntwo\n")
            self.assertEqual([path.name for path in place.iterdir() if path.is_file()], ["all.tgz"])


class CatalogueOfAGpu(unittest.TestCase):
    GRAPHS, PLAIN = ["--backend", "cuda"], ["--backend", "cuda", "--no-graphs", "--numbers", "bf16"]

    def test_the_second_run_is_launched_the_other_way_and_no_option_is_given_twice(self):
        self.assertEqual(catalogue.launched_otherwise(self.GRAPHS), [*self.GRAPHS, "--no-graphs"])
        self.assertEqual(catalogue.launched_otherwise(self.PLAIN), ["--backend", "cuda", "--numbers", "bf16"])
        self.assertEqual(catalogue.launched_otherwise(["--backend", "cpu"]), ["--backend", "cpu"])
        self.assertEqual(catalogue.in_full(self.PLAIN), ["--backend", "cuda", "--no-graphs"])

    def test_weights_of_other_numbers_are_not_compared(self):
        lines = [{"name": "paci", "reference": "r", "weights": "a", "memory": "equal"},
                 {"name": "pipeoptim", "reference": "r", "weights": "b", "memory": "not predicted: float32", "numbers": "float32"}]
        self.assertEqual(catalogue.problems(lines), [])
        self.assertNotEqual(catalogue.problems([lines[0], {**lines[1], "numbers": None}]), [])


class Intervals(unittest.TestCase):
    def test_runs_of_equal_steps_give_an_interval_from_the_slowest_to_the_fastest_run(self):
        # The median of three drawn runs is the fastest with probability 7/27 and the slowest with 7/27, both more than 2.5 %.
        self.assertEqual(intervals.block_bootstrap([[10] * 12, [20] * 12, [30] * 12]), (10, 30))

    def test_equal_runs_give_no_interval(self):
        self.assertEqual(intervals.block_bootstrap([[7] * 12] * 3), (7, 7))

    def test_one_slow_run_of_three_is_inside_the_interval_though_most_steps_are_fast(self):
        low, high = intervals.block_bootstrap([[10] * 100, [10] * 100, [13] * 100])
        self.assertEqual((low, high), (10, 13))  # the slow run is drawn twice or thrice in 7 of 27

    def test_steps_that_drift_inside_of_a_run_widen_the_interval(self):
        low, high = intervals.block_bootstrap([list(range(100, 112))])
        self.assertLess(low, 104)
        self.assertGreater(high, 107)

    def test_quantiles_lie_between_neighbours(self):
        self.assertEqual(intervals.quantile([4, 1, 3, 2], 0.5), 2.5)
        self.assertEqual(intervals.quantile([5], 0.9), 5)

    def test_the_spread_of_runs_is_that_of_their_medians(self):
        self.assertAlmostEqual(intervals.between_runs([[9, 10, 99], [20], [11]]), 10 / 11)


class Actions(unittest.TestCase):
    predicted = timeline((0, "0F0", 0, 10), (0, "0F1", 10, 20), (1, "1F0", 10, 20), (1, "1B0", 20, 40), (1, "1F1", 40, 50), (1, "1B1", 50, 70),
                         (0, "0B0", 40, 60), (0, "0B1", 70, 90), (0, "0U0", 90, 91))

    def test_actions_have_the_place_of_their_step(self):
        found = actions.actions_of(timeline((0, "1:3F5.1", 1, 2), (0, "0U0", 2, 3), microbatches=2, updates=3))
        self.assertEqual(found, [actions.Action(2, actions.Place(0, 3, "F", 1, ".1"), 1, 2)])

    def test_durations_are_medians_over_runs_and_their_errors_relative(self):
        run = lambda length: actions.actions_of(timeline((0, "0F0", 0, length)))
        self.assertEqual(actions.duration_errors(run(15), [run(9), run(10), run(99)], 0), [0.5])

    def test_a_common_shift_is_no_start_error(self):
        shifted = timeline(*[(s["device"], s["action"], s["start_ns"] + 1000, s["end_ns"] + 1000) for s in self.predicted["spans"]])
        self.assertEqual(actions.start_errors(actions.actions_of(self.predicted), [actions.actions_of(shifted)], 0), {0: 0, 1: 0})

    def test_the_start_error_is_the_root_mean_square_by_device(self):
        ours = actions.actions_of(timeline((0, "0F0", 0, 1), (0, "0F1", 1, 2), (0, "0F2", 2, 3), (1, "1F0", 1, 2), (1, "1F1", 2, 3), microbatches=3))
        theirs = actions.actions_of(timeline((0, "0F0", 0, 1), (0, "0F1", 1, 2), (0, "0F2", 2, 3), (1, "1F0", 7, 8), (1, "1F1", 10, 11), microbatches=3))
        self.assertEqual(actions.start_errors(ours, [theirs], 0), {0: 0, 1: ((6 ** 2 + 8 ** 2) / 2) ** 0.5})

    def test_the_critical_path_goes_back_through_messages_and_devices(self):
        names = [(a.place.stage, a.place.kind, a.place.microbatch) for a in actions.critical_path(actions.actions_of(self.predicted))]
        self.assertEqual(names, [(0, "F", 0), (1, "F", 0), (1, "B", 0), (1, "F", 1), (1, "B", 1), (0, "B", 1)])

    def test_the_share_of_the_path_is_counted_by_the_time_of_the_run(self):
        # Here the second device is fast and the first is slow: its own actions are the path, of which the prediction has 0F0 and 0B1.
        run = timeline((0, "0F0", 0, 30), (0, "0F1", 30, 60), (1, "1F0", 30, 31), (1, "1B0", 31, 32), (1, "1F1", 60, 61), (1, "1B1", 61, 62),
                       (0, "0B0", 62, 102), (0, "0B1", 102, 142))
        path = actions.critical_path(actions.actions_of(run))
        self.assertEqual([(a.place.kind, a.place.microbatch) for a in path if a.place.device == 0], [("F", 0), ("F", 1), ("B", 0), ("B", 1)])
        # On it: 0F0 30, 0F1 30, 0B0 40, 0B1 40; named are 0F0 and 0B1.
        self.assertAlmostEqual(actions.path_share(actions.actions_of(self.predicted), actions.actions_of(run), 0), 70 / 140)

    def test_a_prediction_names_its_own_path(self):
        self.assertEqual(actions.path_share(actions.actions_of(self.predicted), actions.actions_of(self.predicted), 0), 1)

    def test_steps_are_between_ends_of_updates_of_the_last_device(self):
        run = timeline((0, "0U0", 0, 10), (1, "1U0", 0, 12), (0, "0U1", 0, 25), (1, "1U1", 0, 24), (0, "0U2", 0, 40), (1, "1U2", 0, 33))
        self.assertEqual(actions.step_times(run, 1), [13, 15])
        self.assertEqual(actions.step_times(run, 2), [15])


class ClosedForms(unittest.TestCase):
    work = closed_forms.Work(devices=4, microbatches=8, forward=1, input_grad=1, weight_grad=1, busiest=3, update=2, chunks=2, slices=3)

    def test_formulas_are_those_of_the_papers(self):
        expected = {"gpipe": 9, "1f1b": 9, "interleaved": 4.5, "zb-h1": 3, "zb-v": 0, "chimera": 3, "seq1f1b": 3, "pipemare": 0}
        self.assertEqual({name: closed_forms.step(name, self.work) - 26 for name in closed_forms.BUBBLES}, expected)

    def test_a_schedule_without_a_formula_has_none(self):
        self.assertIsNone(closed_forms.step("hanayo", self.work))


class Profiles(unittest.TestCase):
    def profile(self, *means):
        return {"network": "n", "samples": 1, "transfers": [{"bytes": 100, "latency_ns": 5, "bytes_per_s": 10.0}],
                "stages": [{"f_ns": {"median": mean, "p10": mean - 1, "p90": mean + 1, "n": 2, "mean": mean}} for mean in means]}

    def test_measurements_of_a_profile_are_merged_stage_by_stage(self):
        stages = predictions.merged([self.profile(10, 40), self.profile(20, 60)])["stages"]
        self.assertEqual([stage["f_ns"] for stage in stages], [{"median": 15, "p10": 9, "p90": 21, "n": 4, "mean": 15},
                                                               {"median": 50, "p10": 39, "p90": 61, "n": 4, "mean": 50}])

    def test_one_mean_makes_all_stages_equal(self):
        self.assertEqual([stage["f_ns"]["mean"] for stage in predictions.one_mean(self.profile(10, 40))["stages"]], [25, 25])

    def test_another_size_has_every_stage_scaled_by_its_own_ratio(self):
        found = predictions.scaled(self.profile(10, 40), [{"f_ns": 2}, {"f_ns": 3}], 4, "m", 8)
        self.assertEqual([stage["f_ns"]["mean"] for stage in found["stages"]], [20, 120])
        self.assertEqual((found["network"], found["samples"], found["transfers"][0]["bytes"]), ("m", 8, 400))


class Verdicts(unittest.TestCase):
    def row(self, ours, low, high, **more):
        return {"predicted_ns": {"ours": ours}, "low_ns": low, "high_ns": high, "measured_ns": (low + high) / 2, "kind": "in place", "model": "m", "name": str(ours),
                "worst_error": max(abs(ours / low - 1), abs(ours / high - 1)), **more}

    def test_the_worse_end_of_the_interval_must_be_within_the_limit(self):
        self.assertEqual(table.verdict(self.row(100, 99, 101), 0.02), "pass")
        self.assertEqual(table.verdict(self.row(100, 90, 101), 0.02), "open")
        self.assertEqual(table.verdict(self.row(100, 105, 110), 0.02), "FAIL")
        self.assertEqual(table.verdict(self.row(100, 90, 92), 0.02), "FAIL")

    def test_pairs_are_ordered_where_predictions_and_measurements_are_apart(self):
        rows = [self.row(100, 99, 101), self.row(110, 90, 95), self.row(101, 120, 130), self.row(150, 96, 200)]
        self.assertEqual(table.pairs(rows, 0.02), (3, [["100", "110"], ["110", "101"]]))


class Clocks(unittest.TestCase):
    def test_the_clock_of_a_run_is_that_of_its_busy_moments(self):
        rows = [(1, 300, 80, 0), (2, 1980, 500, 0), (3, 1980, 510, 0), (4, 1965, 505, 0), (9, 100, 900, 0)]
        self.assertEqual(clocks.clock_between(rows, 0, 5), 1980)
        self.assertIsNone(clocks.clock_between(rows, 3.5, 5))

    def test_a_run_half_a_percent_off_is_a_stray(self):
        self.assertEqual(clocks.strays([1980, 1980, 1975, 1965, None]), [False, False, False, True, False])

    def test_rows_of_the_driver_are_read_also_without_power(self):
        self.assertEqual(clocks.driver_row("2026/11/23 10:00:00.250, 1980, 512.3\n")[1:], (1980, 512.3))
        self.assertEqual(clocks.driver_row("2026/11/23 10:00:00.250, 1980, [N/A]\n")[1:], (1980, 0))
        self.assertIsNone(clocks.driver_row("Unable to determine the device handle\n"))


class Journals(unittest.TestCase):
    def test_what_was_cut_short_is_dropped_and_what_was_whole_is_read(self):
        with tempfile.TemporaryDirectory() as folder:
            first = journal.Journal(folder)
            first.add("run", "a", files={"a.json": "whole"}, value=1)
            journal.append(first.path, b'{"kind": "run", "na')
            journal.append(first.archive, b"half of a file")
            second = journal.Journal(folder)
            second.add("run", "b", files={"b.json": "more"})
            third = journal.Journal(folder)
            self.assertEqual([third.read(line, line["name"] + ".json") for line in third.lines], ["whole", "more"])
            self.assertEqual(third.find("run", "a")["value"], 1)
            self.assertIsNone(third.find("run", "c"))


class Results(unittest.TestCase):
    def test_the_page_of_the_cpu_has_the_table_of_the_experiment(self):
        folder = pathlib.Path(__file__).resolve().parents[3] / "results/fidelity/cpu"
        self.assertIn((folder / "fidelity.md").read_text().strip(), (folder / "README.md").read_text())

    def test_a_kept_timeline_gives_the_measured_step_of_its_row(self):
        folder = pathlib.Path(__file__).resolve().parents[3] / "results/fidelity/cpu"
        kept = journal.Journal.__new__(journal.Journal)
        kept.lines, kept.archive = journal.read_lines(folder / "journal.jsonl"), folder / "timelines.tar"
        steps = []
        for number in range(3):
            steps += actions.step_times(kept.document(kept.find("run", f"zb-h1/{number}"), f"zb-h1.run{number}.json"), 2)
        row = next(row for row in json.loads((folder / "fidelity.json").read_text())["rows"] if row["name"] == "zb-h1")
        self.assertEqual((len(steps), statistics.median(steps)), (row["steps"], row["measured_ns"]))


class Catalogue(unittest.TestCase):
    def test_schedules_equal_in_one_number_type_must_be_equal_in_the_other_and_no_others(self):
        line = lambda name, reference, weights, **more: {"name": name, "reference": reference, "weights": weights, "memory": "equal", **more}
        self.assertEqual(catalogue.problems([line("a", 1, 7), line("b", 1, 7), line("c", 2, 8, again=8)]), [])
        self.assertEqual(len(catalogue.problems([line("a", 1, 7), line("b", 1, 8)])), 1)
        self.assertEqual(len(catalogue.problems([line("a", 1, 7), line("b", 2, 7)])), 1)
        self.assertEqual(len(catalogue.problems([line("c", 2, 8, again=9)])), 1)
        self.assertEqual(len(catalogue.problems([line("c", 2, 8) | {"memory": "differs"}])), 1)


if __name__ == "__main__":
    unittest.main()
