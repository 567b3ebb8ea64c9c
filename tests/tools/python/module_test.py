#!/usr/bin/python3
"""Tests of the Python module, held against the program and against closed formulas of papers.

    PYTHONPATH=BUILD/python tests/tools/python/module_test.py PROGRAM
"""
import gc
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import plumbline

try:
    import numpy
except ImportError:
    numpy = None
try:
    import matplotlib
    matplotlib.use("Agg")
except ImportError:
    matplotlib = None

PROGRAM = sys.argv.pop(1)
SOURCE = os.path.dirname(os.path.abspath(__file__)).removesuffix("/tests/tools/python")
EXAMPLES = os.path.join(SOURCE, "tools/python/examples")


def printed(*arguments):
    """What the program printed, with the ends of lines that it printed."""
    run = subprocess.run([PROGRAM, *arguments], capture_output=True)
    return subprocess.CompletedProcess(run.args, run.returncode, run.stdout.decode(), run.stderr.decode())


class Simulate(unittest.TestCase):
    def test_is_the_document_of_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.json")
            self.assertEqual(printed("simulate", "zb-h1", "-p", "4", "-m", "8", "--cost", "F=1,I=1,W=1", "--json", path)
                             .returncode, 0)
            with open(path) as file:
                expected = json.load(file)
        run = plumbline.simulate("zb-h1", devices=4, microbatches=8, cost="F=1,I=1,W=1")
        self.assertEqual(json.loads(run.json()), expected)

    def test_errors_have_the_words_of_the_program(self):
        with self.assertRaises(plumbline.Error) as raised:
            plumbline.simulate("1f1bb", devices=4, microbatches=8)
        self.assertIn(str(raised.exception), printed("simulate", "1f1bb", "-p", "4", "-m", "8").stderr)
        with self.assertRaisesRegex(plumbline.Error, "microbatches"):
            plumbline.simulate("1f1b", devices=4, microbatche=8)

    def test_summary_has_the_same_figures_and_no_spans(self):
        whole = plumbline.simulate("1f1b", devices=4, microbatches=8)
        brief = plumbline.simulate("1f1b", devices=4, microbatches=8, spans=False)
        self.assertEqual(brief.makespan_ns, whole.makespan_ns)
        self.assertEqual(brief.bubble_fraction, whole.bubble_fraction)
        with self.assertRaisesRegex(plumbline.Error, "spans=True"):
            brief.spans

    def test_refuses_a_schedule_that_cannot_run(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mine.txt")
            with open(path, "w") as file:
                file.write("d0: 0B0 0F0\n")
            with self.assertRaises(plumbline.InvalidSchedule) as raised:
                plumbline.simulate(path, cost="F=1,B=2")
            self.assertTrue(raised.exception.violations)
            self.assertFalse(plumbline.validate(path))

    def test_notebooks_get_a_drawing(self):
        run = plumbline.simulate("1f1b", devices=2, microbatches=2)
        self.assertIn("<svg", run._repr_svg_())
        self.assertIn("<svg", run._repr_html_())

    def test_png_is_a_picture_of_the_asked_width_and_no_text(self):
        run = plumbline.simulate("1f1b", devices=2, microbatches=3)
        picture = run.png(width=8.5, caption="two devices")
        self.assertEqual(picture[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(int.from_bytes(picture[16:20], "big"), 1004)  # 8.5 cm at 300 dots an inch
        with self.assertRaisesRegex(plumbline.Error, "expected `timeline.png\\(\\)`"):
            run.report("png")

    def test_memory_is_kept_for_the_next_timeline_and_can_be_given_back(self):
        import resource
        size = {"devices": 32, "microbatches": 256, "chunks": 2, "cost": "F=1,B=2"}
        faults = []
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            plumbline.simulate("interleaved", **size)
            faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
        self.assertLess(faults[2], max(faults[0] / 4, 200))
        self.assertTrue(plumbline.release_memory())

    def test_options_come_from_the_table(self):
        self.assertIn("memory_limit", plumbline.simulate.__doc__)


class PlansAndComparisons(unittest.TestCase):
    def test_plan_is_that_of_the_program(self):
        size = ["--network", "gpt2-small", "--cluster", "a100-1x2", "--batch", "4", "--schedule", "1f1b"]
        plan = plumbline.plan("gpt2-small", "a100-1x2", 4, schedule="1f1b")
        self.assertTrue(plan)
        self.assertEqual(plan.text, printed("plan", *size).stdout)
        self.assertEqual(plumbline.simulate(plan.schedule, cost="F=1,B=2").findings, [])

    def test_a_run_compared_with_itself_and_with_another(self):
        run = plumbline.simulate("1f1b", devices=4, microbatches=8)
        self.assertTrue(plumbline.compare(run, run, max_error="1%"))
        slower = plumbline.simulate("1f1b", devices=4, microbatches=8, cost="F=1.5,B=2")
        compared = plumbline.compare(run, slower, max_error="1%")
        self.assertFalse(compared)
        self.assertIn("makespan", compared.text)

    def test_convert_is_that_of_the_program(self):
        made = plumbline.schedule("zb-v", devices=2, microbatches=4)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "zbv.json")
            with open(path, "w") as file:
                file.write(made.text)
            expected = printed("convert", path, "-", "--to", "torch-csv").stdout
        self.assertEqual(plumbline.convert(made, to="torch-csv"), expected)

    def test_questions_without_a_command_of_their_own_are_refused(self):
        with self.assertRaisesRegex(plumbline.Error, "question"):
            plumbline._core.options("simulat")


class Arguments(unittest.TestCase):
    """What scripts have at hand is taken, and what is refused is named in one short line."""

    def refused(self, call, *words):
        with self.assertRaises(plumbline.Error) as raised:
            call()
        for word in words:
            self.assertIn(word, str(raised.exception))
        self.assertLess(len(str(raised.exception)), 200)

    def test_paths_are_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "mine.txt")
            path.write_text("d0: 0F0 0B0\n")
            run = plumbline.simulate(path, cost="F=1,B=2")
            self.assertEqual(run.makespan_ns, 3_000_000)
            self.assertTrue(plumbline.validate(path))
            self.assertEqual(plumbline.ask({"ask": "validate", "schedule": path})["status"], 0)
            timeline = pathlib.Path(folder, "b.json")
            timeline.write_text(run.json())
            other = plumbline.simulate(path, cost="F=2,B=2")  # is not taken for the file of the same name
            compared = plumbline.compare(timeline, other)
            self.assertEqual(compared.document["makespan_ns"]["measured"], 4_000_000)

    def test_texts_of_schedules_and_runs_are_taken_for_what_they_are(self):
        made = plumbline.schedule("1f1b", devices=2, microbatches=2)
        run = plumbline.simulate(made.text, cost="F=1,B=2")
        self.assertEqual(run.makespan_ns, 9_000_000)
        self.assertEqual(plumbline.simulate("d0: 0F0 0B0\n", cost="F=1,B=2").makespan_ns, 3_000_000)
        self.assertTrue(plumbline.compare(run.json(), run, max_error="0%"))

    def test_what_is_no_run_and_no_schedule_is_refused_without_repeating_it(self):
        run = plumbline.simulate("1f1b", devices=2, microbatches=2)
        self.refused(lambda: plumbline.compare("x" * 96_000, run), "compare: a: a text of 96000 characters", "a Timeline")
        self.refused(lambda: plumbline.compare(run, 3), "compare: b: int", "a Timeline")
        self.refused(lambda: plumbline.simulate("y" * 3000, devices=2), "simulate: schedule: a text of 3000 characters")
        self.refused(lambda: plumbline.simulate(3), "simulate: schedule: int")

    def test_a_value_that_cannot_be_used_is_named(self):
        for value, word in ((math.nan, "nan"), (math.inf, "inf"), (object(), "object"), (b"4", "bytes"), ({"a": 1}, "dict")):
            self.refused(lambda: plumbline.simulate("1f1b", devices=2, microbatches=2, jitter=value), "simulate: jitter: " + word)
        self.refused(lambda: plumbline.simulate("1f1b", devices=[2, 4], microbatches=2),
                     "simulate: devices: an array of 2 values, expected a single value")
        self.refused(lambda: plumbline.simulate("1f1b", devices=[], microbatches=2), "simulate: devices: an array of 0 values")
        self.refused(lambda: plumbline.sweep("1f1b", devices=[], microbatches=2), "sweep: devices: no values")

    def test_sweeps_take_lists_and_ranges(self):
        expected = plumbline.sweep("gpipe", "1f1b", devices="2,3,4", microbatches=4, cost="F=1,B=2").rows
        for devices in ([2, 3, 4], (2, 3, 4), range(2, 5)):
            self.assertEqual(plumbline.sweep("gpipe", "1f1b", devices=devices, microbatches=4, cost="F=1,B=2").rows, expected)
        self.assertEqual(plumbline.sweep(["gpipe", "1f1b"], devices="2,3,4", microbatches=4, cost="F=1,B=2").rows, expected)

    @unittest.skipIf(numpy is None, "numpy is missing")
    def test_numbers_and_arrays_of_numpy_are_taken(self):
        for p in numpy.arange(2, 5):
            run = plumbline.simulate("gpipe", devices=p, microbatches=numpy.int32(8), cost="F=1,B=2", jitter=numpy.float64(0))
            self.assertAlmostEqual(run.bubble_fraction, float(p - 1) / (8 + p - 1))
        swept = plumbline.sweep("1f1b", devices=numpy.arange(2, 5), microbatches=4, cost="F=1,B=2")
        self.assertEqual([row["p"] for row in swept.rows], ["2", "3", "4"])

    def test_an_unknown_report_is_told_the_known_ones(self):
        run = plumbline.simulate("1f1b", devices=2, microbatches=2)
        self.refused(lambda: run.report("json"), "unknown report 'json'", "html", "svg", "csv", "pdf", "trace")


class SearchesCampaignsAndTraces(unittest.TestCase):
    def test_search_is_that_of_the_program_and_its_order_takes_as_long_as_it_says(self):
        size = ["-p", "4", "-m", "6", "--cost", "F=1,I=1,W=1", "--memory-limit", "3", "--simulations", "50", "--nodes", "50"]
        found = plumbline.search(devices=4, microbatches=6, cost="F=1,I=1,W=1", memory_limit=3, simulations=50, nodes=50)
        self.assertEqual(found.text, printed("search", *size).stdout)
        best = plumbline.simulate(found.schedule, cost="F=1,I=1,W=1")
        self.assertEqual(best.makespan_ns, found.orders[0]["makespan_ns"])
        nothing = plumbline.search(devices=4, microbatches=6, cost="F=1,I=1,W=1", memory_limit=0.25, simulations=50, nodes=50)
        self.assertFalse(nothing)
        self.assertTrue(nothing.findings)

    def test_a_schedule_can_be_improved(self):
        given = plumbline.schedule("gpipe", devices=2, microbatches=4)
        found = plumbline.search(given, cost="F=1,B=2", simulations=50)
        self.assertLessEqual(found.orders[0]["makespan_ns"],
                             plumbline.simulate(given, cost="F=1,B=2").makespan_ns)

    def test_campaign_is_that_of_the_program(self):
        played = plumbline.campaign(trace="bamboo-p3", layouts="bamboo-gpt2", price=0.91)
        self.assertEqual(played.text, printed("campaign", "--trace", "bamboo-p3", "--layouts", "bamboo-gpt2", "--price",
                                              "0.91").stdout)
        self.assertEqual(len(played.rules), 8)
        self.assertIn("<html", played.html)
        several = plumbline.campaign(trace="bamboo-p3", layouts="bamboo-gpt2", rules="swarm", hours=[3, 6])
        self.assertEqual([point["value"] for point in several.points], [3, 6])
        self.assertEqual(several.points[1]["campaign"]["hours"], 6)
        self.assertEqual((several.rules, played.points), ([], []))

    def test_a_traced_run_is_that_of_the_program_and_a_profile_for_simulations(self):
        traces = [os.path.join(SOURCE, "tests/sim/traces/data/zb-h1", f"rank{rank}.json.gz") for rank in range(4)]
        run = plumbline.trace(*traces)
        self.assertEqual(run.schedule, "zb-h1")
        with tempfile.TemporaryDirectory() as folder:
            profile = os.path.join(folder, "profile.json")
            self.assertEqual(printed("trace", *traces, "--profile", profile).returncode, 0)
            with open(profile) as file:
                self.assertEqual(run.profile, json.load(file))
            from_file = plumbline.simulate("zb-h1", devices=4, microbatches=8, profile=profile)
        predicted = plumbline.simulate("zb-h1", devices=4, microbatches=8, profile=run)
        self.assertEqual(predicted.step_time_ns, from_file.step_time_ns)
        self.assertTrue(plumbline.compare(predicted, run, max_error="5%"))
        self.assertFalse(plumbline.compare(predicted, run, max_error="0.1%"))

    def test_lists_and_any_request_are_those_of_the_program(self):
        self.assertEqual(plumbline.schedules(), json.loads(printed("schedules", "--json").stdout))
        self.assertIn("gpt2-small", [network["name"] for network in plumbline.networks()])
        self.assertIn("h100", [cluster["name"] for cluster in plumbline.clusters()])
        self.assertEqual(plumbline.ask({"ask": "validate", "schedule": "1f1b", "devices": 2, "microbatches": 2})["status"], 0)


class Examples(unittest.TestCase):
    """The scripts of tools/python/examples run, and say what they promise."""

    def run_example(self, name, *arguments):
        script = os.path.join(EXAMPLES, name)
        run = subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def test_own_schedule(self):
        printed_text = self.run_example("own_schedule.py")
        self.assertIn("1B2: is missing", printed_text)
        self.assertIn("bubble 25.0%, against 25.0% of 1f1b", printed_text)  # 1/(m + p - 1) = 1/4

    def test_plan_a_job(self):
        text = self.run_example("plan_a_job.py", "gpt2-small", "a100-1x2", "4")
        self.assertIn("--global-batch-size 4", text)

    def test_real_run(self):
        traces = [os.path.join(SOURCE, "tests/sim/traces/data/zb-h1", f"rank{rank}.json.gz") for rank in range(4)]
        text = self.run_example("real_run.py", *traces)
        self.assertRegex(text, r"step time +\d+\.\d ms +306\.6 ms")  # the median of the traced steps
        self.assertIn("zb-h1", text)


@unittest.skipIf(numpy is None, "numpy is missing")
class Arrays(unittest.TestCase):
    def test_bubbles_from_spans_are_those_of_the_papers(self):
        # GPipe and PipeDream-Flush: (p-1)/(m+p-1) of the makespan (Narayanan et al. 2021, section 2.2.1, there as a
        # share of the ideal time: (p-1)/m).
        for name in ("gpipe", "1f1b"):
            for p, m in ((2, 4), (4, 8), (8, 32)):
                run = plumbline.simulate(name, devices=p, microbatches=m, cost="F=1,B=2")
                compute = run.spans.lane == plumbline.LANES.index("compute")
                busy = (run.spans.end_ns - run.spans.start_ns)[compute].sum()
                makespan = run.spans.end_ns.max() - run.spans.start_ns.min()
                self.assertAlmostEqual(1 - busy / (p * makespan), (p - 1) / (m + p - 1), places=9)

    def test_arrays_are_views_that_outlive_the_run(self):
        run = plumbline.simulate("1f1b", devices=4, microbatches=8)
        starts = run.spans.start_ns
        expected = starts.copy()
        self.assertFalse(starts.flags.owndata)
        self.assertFalse(starts.flags.writeable)
        del run
        gc.collect()
        self.assertTrue((starts == expected).all())

    def test_the_highest_point_of_a_curve_is_the_peak(self):
        from plumbline import plots
        run = plumbline.simulate("1f1b", devices=4, microbatches=8, network="gpt-mini", cluster="a100")
        for number, device in enumerate(run.devices):
            _, amounts = plots.memory_of(run, number)
            self.assertEqual(int(amounts.max()), device["peak_memory_bytes"])


@unittest.skipIf(numpy is None or matplotlib is None, "matplotlib is missing")
class Plots(unittest.TestCase):
    def test_a_timeline_has_a_bar_for_every_action_in_the_colours_of_the_reports(self):
        from matplotlib.colors import to_hex
        from plumbline import plots
        run = plumbline.simulate("zb-h1", devices=4, microbatches=8, cost="F=1,I=1,W=1")
        axes = plots.timeline(run)
        self.assertEqual(len(axes.patches), 3 * 4 * 8)
        drawn = {to_hex(bar.get_facecolor()) for bar in axes.patches}
        self.assertEqual(len(drawn), 3)
        picture = run.report("svg")
        for colour in drawn:
            self.assertIn(colour, picture)

    def test_both_halves_of_an_overlapped_pair_can_be_seen(self):
        from plumbline import plots
        for name, p, m in (("pipemare", 4, 2), ("dualpipe", 4, 8)):
            run = plumbline.simulate(name, devices=p, microbatches=m, cost="F=1,B=2")
            bars = [bar.get_bbox() for bar in plots.timeline(run).patches]
            compute = run.spans.lane == plumbline.LANES.index("compute")
            self.assertEqual(len(bars), int((compute & (run.spans.end_ns > run.spans.start_ns)).sum()))
            self.assertTrue(any(bar.height < 0.5 for bar in bars))
            for k, bar in enumerate(bars):
                for other in bars[:k]:
                    wide = min(bar.x1, other.x1) - max(bar.x0, other.x0)
                    high = min(max(bar.y0, bar.y1), max(other.y0, other.y1)) - max(min(bar.y0, bar.y1), min(other.y0, other.y1))
                    self.assertFalse(wide > 1e-6 and high > 1e-6, f"{name}: two bars lie over each other")

    def test_the_labels_of_axes_are_inside_the_picture(self):
        from plumbline import plots
        run = plumbline.simulate("1f1b", devices=4, microbatches=8, cost="F=1,B=2")
        points = plumbline.sweep("gpipe", "1f1b", devices="4", microbatches="8", cost="F=1,B=2")
        for axes in (plots.timeline(run), plots.memory(run), plots.bubble_against_memory(points)):
            figure = axes.get_figure()
            figure.canvas.draw()
            for label in (axes.xaxis.label, axes.yaxis.label):
                box = label.get_window_extent()
                self.assertTrue(box.x0 >= 0 and box.y0 >= 0 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1,
                                label.get_text())

    def test_memory_of_abstract_costs_is_drawn_in_stashes(self):
        from plumbline import plots
        run = plumbline.simulate("1f1b", devices=4, microbatches=8, cost="F=1,B=2")
        axes = plots.memory(run)
        self.assertEqual([max(line.get_ydata()) for line in axes.get_lines()], [4, 3, 2, 1])  # p - rank
        self.assertIn("stashes", axes.get_ylabel())

    def test_memory_and_sweeps_are_drawn_with_their_numbers(self):
        from plumbline import plots
        run = plumbline.simulate("1f1b", devices=4, microbatches=8, network="gpt-mini", cluster="a100")
        lines = plots.memory(run).get_lines()
        self.assertEqual(len(lines), 4)
        for line, device in zip(lines, run.devices):
            self.assertAlmostEqual(max(line.get_ydata()) * 2**30, device["peak_memory_bytes"], delta=1)
        points = plumbline.sweep("gpipe", "1f1b", devices="4", microbatches="8", cost="F=1,B=2")
        axes = plots.bubble_against_memory(points)
        self.assertEqual([[round(x), round(y, 4)] for x, y in axes.collections[0].get_offsets()],
                         [[8, 0.2727], [4, 0.2727]])  # (p - 1)/(m + p - 1) = 3/11; m and p activations


class Stubs(unittest.TestCase):
    """questions.pyi, from which type checkers and editors know every option."""

    def test_stubs_are_those_of_the_option_tables(self):
        sys.path.insert(0, os.path.join(SOURCE, "tools/python"))
        import make_stubs
        with open(os.path.join(SOURCE, "tools/python/plumbline/questions.pyi")) as file:
            self.assertEqual(file.read(), make_stubs.stubs(), "write them anew: tools/python/make_stubs.py")

    @unittest.skipIf(shutil.which("mypy") is None, "mypy is missing")
    def test_a_type_checker_takes_right_options_and_refuses_wrong_ones(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, call in (("right", 'devices=4, memory_limit="8GiB"'), ("wrong", "devicse=4")):
                path = os.path.join(folder, f"{name}.py")
                with open(path, "w") as file:
                    file.write(f'import plumbline\nplumbline.simulate("1f1b", {call}).spans\n')
                checked = subprocess.run(["mypy", "--cache-dir", folder, path], capture_output=True, text=True,
                                         env={**os.environ, "MYPYPATH": os.path.join(SOURCE, "tools/python")})
                self.assertEqual(checked.returncode == 0, name == "right", checked.stdout)


class SchedulesAndSweeps(unittest.TestCase):
    def test_a_schedule_is_the_file_of_the_program_and_can_be_simulated(self):
        made = plumbline.schedule("zb-h1", devices=4, microbatches=8)
        self.assertEqual(made.document, json.loads(printed("schedule", "zb-h1", "-p", "4", "-m", "8").stdout))
        self.assertTrue(plumbline.validate(made))
        self.assertEqual(plumbline.simulate(made, cost="F=1,I=1,W=1").makespan_ns,
                         plumbline.simulate("zb-h1", devices=4, microbatches=8, cost="F=1,I=1,W=1").makespan_ns)

    def test_a_sweep_has_the_rows_of_the_program(self):
        points = plumbline.sweep("gpipe", "1f1b", devices="4", microbatches="8,16", cost="F=1,B=2")
        self.assertEqual(len(points), 4)
        for row, bubble in zip(points.rows, points.column("bubble_fraction")):
            self.assertAlmostEqual(bubble, 3 / (int(row["m"]) + 3), places=5)


class LinePicture(unittest.TestCase):
    PLOT = {"title": "a < b", "x": {"title": "x"}, "y": {"title": "y", "logarithmic": True},
            "series": [{"name": "one", "x": [1, 2, 3], "y": [1, None, 100], "points": True}],
            "marks": [{"x": 2, "y": 10, "text": "here"}]}

    def test_has_the_lines_and_leaves_a_gap(self):
        picture = plumbline.line_picture(self.PLOT)
        self.assertTrue(picture.startswith("<svg ") and picture.endswith("</svg>\n"))
        self.assertIn("<title>a &lt; b</title>", picture)
        self.assertEqual(picture.count("<title>one: "), 2)
        self.assertIn(">here</text>", picture)

    def test_what_is_wrong_is_told_with_its_place(self):
        for change, words in (({"colour": 1}, "colour"), ({"series": [{"x": [1], "y": []}]}, "as many values"),
                              ({"y": {"title": 5}}, "title"), ({"series": []}, "no value on the axis")):
            with self.assertRaisesRegex(plumbline.Error, words):
                plumbline.line_picture({**self.PLOT, "marks": [], **change})


if __name__ == "__main__":
    unittest.main()
