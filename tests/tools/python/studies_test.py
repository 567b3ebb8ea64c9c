#!/usr/bin/env python3
"""Tests of the studies of results/, which are scripts over the module: facts of the papers, which runs are done first, what
runs come to, and that what stands in results/ is what they write.

    PYTHONPATH=BUILD/python PLUMBLINE=PROGRAM tests/tools/python/studies_test.py
"""
import copy
import importlib.util
import json
import math
import pathlib
import sys
import tempfile
import unittest
from types import SimpleNamespace

SOURCE = pathlib.Path(__file__).resolve().parents[3]
RESULTS = SOURCE / "results"
sys.path[:0] = [str(RESULTS), str(RESULTS / "pipemare")]

import figures
import models
import plumbline
import practice
import runs
import study_tools as tools


def script(name):
    spec = importlib.util.spec_from_file_location(f"{name}_study", RESULTS / name / "study.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


planners, public = script("planners"), script("public")

DOCUMENT = {
    "format": "plumbline-study", "version": 2, "seeds": 4, "grid_seeds": 2,
    "tasks": [{"name": "text", "quality": "loss", "target": 5.5, "chance": 5.6, "words": {"TIMING": "slots"},
               "rates": ["0.001", "0.003", "0.01"], "further_rates": ["0.0001", "0.03"], "K": ["4", "8"], "D": ["0.1"],
               "arguments": "--network gpt-tiny -p 3 -m 2 --samples 1 --sequence 8 --steps 8 --learning-rate {rate} "
                            "--executor serial --evaluate-every 4 --evaluate-samples 64"}],
    "methods": [{"name": "synchronous", "arguments": "gpipe"},
                {"name": "naive", "title": "naive asynchronous", "arguments": "pipemare --opt timing={TIMING}"},
                {"name": "t1", "arguments": "pipemare --opt timing={TIMING} --method t1:K={K}"}]}


def small_study(made=(), **changes):
    document = copy.deepcopy(DOCUMENT)
    for key, value in changes.items():
        (document if key in document else document["tasks"][0])[key] = value
    return runs.Study(document, made)


def made_run(method, seed, losses, rate="0.003"):
    """The loss at the end decides: all losses are held-out ones, too."""
    study = small_study()
    by = next(each for each in study.methods if each.name == method)
    setting = by.rule(study.tasks[0], rate)
    points = [runs.Point(i + 1, loss, loss) for i, loss in enumerate(losses)]
    return runs.Run("text", method, setting, seed, runs.mark_of(by.command(study.tasks[0], setting)), 0.0, points)


def ending(run, loss):
    return run._replace(points=run.points[:-1] + [run.points[-1]._replace(loss=loss)])


def first_grid():
    """Runs of all methods at all rates of the grid with seed 0, best at the middle rate."""
    return [made_run(method, 0, [6, loss], rate) for method in ("synchronous", "naive", "t1")
            for rate, loss in (("0.001", 5.2), ("0.003", 5.0), ("0.01", 5.3))]


def described(planned):
    return [f"{run.method.name} {run.setting.rate} {run.seed}" for run in planned]


class Models(unittest.TestCase):
    def test_utilization_over_gpipe_is_that_of_the_published_table_by_formula_and_simulated(self):
        self.assertAlmostEqual(models.utilization_gain(93, 8), 12.50, delta=0.0125)
        self.assertEqual([models.utilization_gain(107, n) for n in (8, 16, 32)], [14.25, 7.625, 4.3125])
        self.assertAlmostEqual(models.utilization_gain(214, 64), 4.33, delta=0.005)
        self.assertAlmostEqual(models.amortised_gain(107, 16, 0.1), 4.587, delta=0.005)
        self.assertAlmostEqual(models.amortised_gain(107, 8, 0.2), 3.90, delta=0.008)
        self.assertAlmostEqual(models.gain(16, 4), models.utilization_gain(16, 4))

    def test_activations_with_recompute_are_those_of_the_published_table(self):
        for stages, segment, stashes in ((47, 7, 676), (93, 10, 1859), (107, 10, 2292), (150, 12, 3779), (186, 14, 5210),
                                         (214, 15, 6421)):
            self.assertEqual(models.best_segment(stages), segment)
            self.assertEqual(models.recomputed_activations(stages, segment), stashes)
            self.assertEqual(models.recomputed_activations(stages, 1), stages**2)

    def test_equal_stages_make_the_weighted_delay_p_over_n(self):
        self.assertAlmostEqual(models.weighted_delay([5] * 12, 8), 1.5)

    def test_the_layers_of_resnet_50_give_the_published_factors_and_the_simulator_those_of_whole_versions(self):
        made = models.Models("resnet-50-cifar")
        figure = {of["name"]: of for of in made.figures}
        formula = {name: of["formula"] for name, of in figure.items()}
        self.assertEqual(formula["parameters"], 23520842)
        self.assertAlmostEqual(formula["memory-base"], 269.2, delta=0.05)
        self.assertAlmostEqual(formula["weighted-delay"], 6.006, delta=0.0006)
        self.assertAlmostEqual(formula["memory-pipedream"], 2.669, delta=0.0005)
        self.assertAlmostEqual(formula["memory-pipedream-whole"], (2 + 6.606) / 3, delta=0.0003)
        self.assertAlmostEqual(formula["memory-pipedream-t2"], 2.002, delta=0.0008)
        for name in ("memory-base", "memory-pipedream-newest", "memory-t1", "memory-t2", "utilization-n8",
                     "utilization-n16", "utilization-n32"):
            self.assertAlmostEqual(figure[name]["simulated"], formula[name], msg=name)
        for name in ("utilization-n8", "utilization-n16", "utilization-n32"):
            self.assertAlmostEqual(formula[name] / figure[name]["published"], 1, delta=5e-3)
        self.assertEqual(made.page(), (RESULTS / "pipemare/model.md").read_text())
        for name, plot in made.plots.items():
            self.assertEqual(plumbline.line_picture(plot), (RESULTS / f"pipemare/{name}.svg").read_text(), name)


class Plans(unittest.TestCase):
    def test_commands_are_the_words_of_a_study_put_together_and_a_missing_one_is_named(self):
        study = small_study()
        task, t1 = study.tasks[0], study.methods[2]
        setting = t1.rule(task, "0.01")
        self.assertEqual(setting, ("0.01", "4", ""))  # t1 uses K and not D
        self.assertEqual(t1.command(task, setting), "train pipemare --opt timing=slots --method t1:K=4 " +
                         task.arguments.replace("{rate}", "0.01"))
        self.assertEqual(t1.others(task, "0.01"), [("0.01", "8", "")])
        t1.arguments = "pipemare --t3-updates {WARMUP}"
        with self.assertRaisesRegex(tools.WrongInput, "{WARMUP}"):
            t1.command(task, setting)
        t1.words["WARMUP"] = "7"  # a method's own words come first
        self.assertTrue(t1.command(task, setting).startswith("train pipemare --t3-updates 7 "))

    def test_the_first_seeds_of_all_methods_come_before_anything_else_the_middle_rate_first(self):
        self.assertEqual(described(small_study().planned()),
                         [f"{method} {rate} 0" for rate in ("0.003", "0.001", "0.01")
                          for method in ("synchronous", "naive", "t1")])

    def test_then_the_best_rate_gets_its_seeds_the_grid_its_second_one_and_other_k_and_d_come_last(self):
        study = small_study(first_grid())
        planned = study.planned()
        order = described(planned)
        self.assertEqual(len(order), 6 + 6 + 3 + 2)
        self.assertEqual(order[:6], [f"{method} 0.003 {seed}" for seed in (1, 2)
                                     for method in ("synchronous", "naive", "t1")])
        self.assertTrue(order[6].endswith(" 1"))
        self.assertEqual(order.count("naive 0.003 3"), 1)
        self.assertEqual(planned[-1].setting, ("0.003", "8", ""))
        self.assertEqual(len(study.planned(methods=["naive"], seeds=2)), 1 + 2)

    def test_a_best_rate_at_the_edge_asks_for_the_next_one_until_it_is_bracketed_or_nothing_is_left(self):
        grid = [ending(run, 4.0) if run.method == "naive" and run.setting.rate == "0.01" else run
                for run in first_grid()]
        study = small_study(grid)
        task, naive = study.tasks[0], study.methods[1]
        self.assertEqual(study.best_rate(task, naive), "0.01")
        self.assertFalse(study.is_bracketed(task, naive))
        self.assertEqual(described(study.planned(methods=["naive"])), ["naive 0.03 0"])
        study.set_runs([*grid, made_run("naive", 0, [6, 5.5], "0.03")])
        self.assertTrue(study.is_bracketed(task, naive))
        self.assertEqual(described(study.planned(methods=["naive"]))[0], "naive 0.01 1")
        study.set_runs([*grid, made_run("naive", 0, [6, 3.0], "0.03")])  # the last rate there is
        self.assertFalse(study.is_bracketed(task, naive))
        self.assertEqual(described(study.planned(methods=["naive"]))[0], "naive 0.03 1")

    def test_a_task_with_seeds_of_its_own_is_run_with_those(self):
        document = copy.deepcopy(DOCUMENT)
        document["tasks"][0].update(seeds=2, grid_seeds=1)
        study = runs.Study(document, first_grid())
        self.assertEqual(described(study.planned()),
                         ["synchronous 0.003 1", "naive 0.003 1", "t1 0.003 1", "t1 0.003 0"])  # the last: the other K

    def test_a_run_of_another_command_is_no_run_of_the_study(self):
        made = first_grid()
        self.assertTrue(all(map(small_study().is_run_of, made)))
        longer = small_study(arguments=DOCUMENT["tasks"][0]["arguments"] + " --warmup 2")
        self.assertFalse(any(map(longer.is_run_of, made)))
        elsewhere = small_study()
        elsewhere.methods[2].tasks = ["other"]
        self.assertEqual(sum(map(elsewhere.is_run_of, made)), 6)

    def test_a_study_of_version_2_is_read_and_one_of_version_1_refused(self):
        read = lambda name: runs.Study(json.loads((SOURCE / "tests/tools/documents/data" / name).read_text()))
        with self.assertRaisesRegex(tools.WrongInput, "version 2"):
            read("study-version-1.json")
        study = read("study-version-2.json")
        self.assertEqual((study.seeds, study.grid_seeds, len(study.tasks), len(study.methods)), (5, 2, 3, 12))

    def test_what_is_wrong_in_a_study_is_told_in_one_line(self):
        for change in ({"rates": ["0.01", "0.003"]}, {"rates": []}, {"rates": ["-1"]}, {"quality": "speed"},
                       {"colour": "red"}):
            document = copy.deepcopy(DOCUMENT)
            document["tasks"][0].update(change)
            with self.assertRaises(tools.WrongInput) as raised:
                runs.Study(document)
            self.assertNotIn("\n", str(raised.exception))


class Figures(unittest.TestCase):
    def test_a_run_diverges_when_it_ends_no_better_than_chance_worse_than_it_began_or_as_no_number(self):
        task = small_study().tasks[0]
        self.assertFalse(made_run("naive", 0, [5.55, 5.5]).has_diverged(task))
        for losses in ([6, 5.6], [5.2, 4.9, 5.3], [6, math.nan, 5], []):
            self.assertTrue(made_run("naive", 0, losses).has_diverged(task), losses)
        task.by_accuracy, task.chance = True, 0.13
        run = made_run("naive", 0, [2.4, 2.3])
        for accuracy, diverged in ((0.12, True), (0.14, False)):
            last = run.points[-1]._replace(accuracy=accuracy)
            self.assertEqual(run._replace(points=[run.points[0], last]).has_diverged(task), diverged)

    def test_estimates_have_students_intervals(self):
        of = figures.Mean([1, 2, 3, 4, 5])
        self.assertEqual(of.mean, 3)
        self.assertAlmostEqual(of.half_width, 2.776 * math.sqrt(2.5 / 5))
        self.assertIsNone(figures.Mean([7]).half_width)

    def test_gaps_are_by_seed_divergence_is_apart_and_updates_count_until_the_target(self):
        made = [made_run("synchronous", 0, [6, 5, 4]), made_run("synchronous", 1, [6, 5.6, 5]),
                made_run("naive", 0, [6, 5.6, 4.5]), made_run("naive", 1, [6, 7, math.nan])]
        study = small_study(made)
        first, naive = figures.best_figures(study, study.tasks[0])
        self.assertEqual(first.quality.mean, 4.5)
        self.assertAlmostEqual(first.to_target.mean, (1.5 + 2 + 0.1 / 0.6) / 2)  # between evaluations
        self.assertEqual((naive.diverged, naive.quality.mean, naive.gap.mean, naive.to_target.count), (1, 4.5, 0.5, 1))
        self.assertTrue(first.mostly_reached)
        self.assertFalse(naive.mostly_reached)  # one of two is not most
        self.assertEqual(figures.document(study)["tasks"][0]["methods"][1]["gap"]["mean"], 0.5)
        table = runs.runs_csv(study.runs)
        self.assertEqual(runs.runs_csv(runs.read_runs(table, "runs.csv")), table)
        with self.assertRaisesRegex(tools.WrongInput, "runs.csv:1"):
            runs.read_runs("a,b\n", "runs.csv")

    def test_runs_that_differ_in_rate_k_d_or_command_are_different_runs_in_the_table(self):
        one = made_run("t1", 0, [6, 5])
        made = [made_run("t1", 0, [6, 5], "0.001"), one, one._replace(setting=one.setting._replace(k="8")),
                one._replace(setting=one.setting._replace(d="0.5")), one._replace(mark="00000000")]
        self.assertEqual(runs.read_runs(runs.runs_csv(made), "runs.csv"), made)

    def test_methods_are_stable_up_to_the_highest_rate_below_the_first_that_diverges(self):
        study = small_study(first_grid())
        task, naive = study.tasks[0], study.methods[1]
        self.assertEqual(figures.stable_rates(study, task, naive), ("0.01", None))
        study.set_runs([*study.runs, made_run("naive", 1, [5, 7])])
        self.assertEqual(figures.stable_rates(study, task, naive), ("0.001", "0.003"))

    def test_what_stands_in_results_is_what_the_kept_runs_say(self):
        folder = RESULTS / "pipemare"
        kept = runs.read_runs((folder / "runs.csv").read_text(), "runs.csv")
        study = runs.Study(json.loads((folder / "study.json").read_text()), kept)
        self.assertEqual(runs.runs_csv(study.runs), (folder / "runs.csv").read_text())
        self.assertTrue(all(map(study.is_run_of, kept)))
        self.assertEqual(figures.training_page(study), (folder / "training.md").read_text())
        for task in study.tasks:
            for end, plot in (("", figures.quality_plot), ("-loss", figures.loss_plot), ("-rates", figures.rates_plot)):
                picture = (folder / f"{task.name}{end}.svg").read_text()
                self.assertEqual(plumbline.line_picture(plot(study, task)), picture, task.name + end)
        self.assertIn(practice.answer(study), (folder / "practice.md").read_text())


class Practice(unittest.TestCase):
    def test_the_answer_names_a_method_whose_best_rate_may_lie_beyond_the_grid_as_at_most_so_far_behind(self):
        made = [ending(run, 5.1 if run.setting.rate == "0.01" else 5.4) if run.method == "t1" else run
                for run in first_grid()]
        study = small_study(made)
        self.assertFalse(study.is_bracketed(study.tasks[0], study.methods[2]))
        self.assertIn("text: at most 0.10 nats (naive 0.00)", practice.answer(study))
        study.set_runs(made[:6])
        self.assertIn("text: not run (naive 0.00)", practice.answer(study))

    def test_more_updates_are_measured_by_delay_and_decide_what_to_take_between_the_nearest_delays(self):
        self.assertEqual(practice.measured_factors(small_study(), ["t1"]), [])
        study = small_study(first_grid())
        (measured,) = practice.measured_factors(study, ["naive", "t1"])
        self.assertEqual((measured.factor, measured.delay), (1, 2.5))  # all reach 5.5 with the second point
        study.set_runs(ending(run, 5.52 if run.setting.rate == "0.003" else 5.54) if run.method == "t1" else run
                       for run in first_grid())
        (measured,) = practice.measured_factors(study, ["t1"])
        self.assertFalse(measured.reached)
        self.assertAlmostEqual(measured.factor, 8 / 1.5)  # updates of the command, and of the synchronous run
        self.assertEqual(practice.factors_text([measured]), "more than 5.33x at a delay of 2.5 (text)")

        def row(*factors):
            """P = 8 and N = 8 are 1.875 updates late, and 1F1B needs 1.875 times the time of busy devices."""
            return practice.practice_row(8, 8, [practice.Factor(study.tasks[0], *each) for each in factors])

        self.assertEqual(len(row()), len(practice.PRACTICE_HEAD))
        self.assertEqual(row()[11], "at least 1.00x")
        self.assertTrue(row()[13].startswith("try both"))
        self.assertEqual(row((1.5, 1.1, True), (2, 1.2, True))[11], "1.10 to 1.20x")
        self.assertEqual(row((1.5, 1.4, True))[13], "ZB-H1, PipeMare gains 3 % at most")
        self.assertEqual(row((1.5, 1.3, True), (1.6, 1.2, False))[11], "at least 1.30x")
        self.assertEqual(row((1.5, 3, True), (2, 4, True))[13], "ZB-H1")

    def test_the_bound_on_the_rate_falls_with_the_delay(self):
        self.assertEqual(practice.stability_bound(0), 1)
        self.assertLess(practice.stability_bound(8), practice.stability_bound(4))

    def test_what_was_not_run_is_counted_by_method(self):
        self.assertEqual(practice.missing_lines(small_study(first_grid())),
                         ["text: 6 runs of the grid over rates (naive asynchronous 2, synchronous 2, t1 2); 9 further seeds "
                          "at the best rates (naive asynchronous 3, synchronous 3, t1 3); 2 runs with other K and D"])

    def test_a_study_trains_what_is_not_there_yet_and_goes_on_where_it_was(self):
        document = copy.deepcopy(DOCUMENT)
        document.update(seeds=1, grid_seeds=1)
        document["tasks"][0].update(further_rates=[], K=["4"])
        study = runs.Study(document, [made_run("t1", 0, [6, 5, 4], "0.01")])
        saved = []
        runs.train_missing(study, 2, 0, lambda all: saved.append(len(all)))
        self.assertEqual((len(study.runs), saved[-1]), (9, 9))
        for run in study.runs[:8]:
            self.assertEqual(run.error, "")
            self.assertIsNotNone(run.points[-1].accuracy)
        self.assertEqual(len(study.runs[8].points), 3)  # not repeated
        runs.train_missing(study, 2, 0, lambda all: self.fail("nothing was left to do"))
        task, naive = study.tasks[0], study.methods[1]
        command = naive.command(task, study.runs[3].setting)
        self.assertEqual(practice.first_delay(command), 2.5)  # D = 5 of three stages in slots, two microbatches
        synchronous = study.first.command(task, study.runs[0].setting)
        self.assertEqual(practice.trained_bytes(synchronous), practice.trained_bytes(command))  # one version each
        head, rows = practice.clock_rows(study, task, "a100")
        self.assertEqual([len(row) for row in rows], [len(head)] * 3)
        page = practice.page(SimpleNamespace(figure=lambda name: None), study, ["a100"])
        self.assertIn("## The answer\n\nHow far", page)

    def test_a_run_that_cannot_be_trained_is_told_with_its_reason(self):
        study = small_study(arguments="--network gpt-tiny -p 3 -m 2 --learning-rate {rate} --executor none")
        run = runs.train_one(study.planned()[0])
        self.assertIn("none", run.error)
        self.assertEqual(run.points, [])


class Planners(unittest.TestCase):
    def test_a_case_is_planned_by_its_command_and_holds_when_ours_is_no_worse_and_soon_enough(self):
        cases = planners.read_cases(RESULTS / "planners/cases.json")
        self.assertEqual(len({case["id"] for case in cases}), len(cases))
        for case in cases:
            self.assertTrue(case["command"].startswith("plan --method "))
            if case["id"] in ("dnn-bert24", "vgg16-16"):
                result = planners.Result(case)
                self.assertTrue(result.proved)
                result.seconds = 0
                self.assertTrue(result.holds)
                result.ours_ms += 0.01
                self.assertFalse(result.holds)
        result.ours_ms -= 0.01
        result.case = {**result.case, "their_seconds": 10.0}
        for seconds, holds in ((1.5, False), (0.9, True)):
            result.seconds = seconds
            self.assertEqual(result.holds, holds)

    def test_a_case_with_a_key_that_is_not_known_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "c.json"
            path.write_text('[{"id": "x", "sauce": ""}]')
            with self.assertRaisesRegex(tools.WrongInput, "'x'.*'sauce'"):
                planners.read_cases(path)

    def test_no_published_planners_plan_of_a_profile_is_faster_than_that_of_the_search_which_begins_with_it(self):
        scores = planners.Scores({"network": "planners/inputs/pipedream/vgg16/graph.txt", "cluster": "pipedream-a-4x4",
                                  "microbatches": 64})
        self.assertIn("dapple", scores.theirs)
        self.assertTrue(scores.holds)
        scores.ours += 1 << 40
        self.assertFalse(scores.holds)


class Public(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.results = public.Results(public.DATA)

    def test_the_tables_are_those_of_results(self):
        folder = RESULTS / "public"
        self.assertEqual(public.steps_csv(self.results.steps), (folder / "predictions.csv").read_text())
        self.assertEqual(public.memory_csv(self.results.memory), (folder / "memory.csv").read_text())
        self.assertTrue((folder / "README.md").read_text().endswith(public.page(self.results)))

    def test_of_the_ways_to_run_a_job_of_the_zero_bubble_paper_the_fastest_is_found_with_rates_that_none_of_its_rows_fitted(
            self):
        choices = public.choices_of([row for row in self.results.steps if row["data"] == "zero-bubble-paper"])
        self.assertEqual(len(choices), 12)
        self.assertTrue(all(choice.fastest_found for choice in choices))
        self.assertGreaterEqual(public.mean([choice.rank_correlation for choice in choices]), 0.95)

    def test_ways_to_run_one_job_are_ranked_among_themselves_and_the_choice_is_judged_by_what_it_really_took(self):
        def way(model, measured, predicted):
            return {"model": model, "measured_s": measured, "left_out_s": predicted, "data": "d",
                    **{key: 0 for key in ("source", "gpu", "layers", "hidden", "sequence", "vocabulary", "num_gpus",
                                          "microbatch_size", "num_microbatches", "data_degree")}}
        (choice,) = public.choices_of([way("A", 4, 4), way("B", 1, 9), way("A", 2, 3), way("A", 5, 5), way("B", 2, 1),
                                       way("A", 3, 2)])  # two ways to run B are too few
        self.assertAlmostEqual(choice.rank_correlation, 0.8)
        self.assertFalse(choice.fastest_found)
        self.assertAlmostEqual(choice.regret, 0.5)

    def test_ranks_are_shared_by_ties(self):
        self.assertEqual(public.ranks([3, 1, 3, 2]), [2.5, 0, 2.5, 1])
        self.assertTrue(math.isnan(public.rank_correlation([1, 1, 1], [1, 2, 3])))


class Texts(unittest.TestCase):
    def test_numbers_are_those_that_the_program_writes(self):
        for value, text in ((0.0, "0"), (1234.5678, "1235"), (0.00012346, "0.0001235"), (2.5, "2.5"), (-0.0, "0"),
                            (math.inf, "-"), (99999.0, "99999")):
            self.assertEqual(tools.number_text(value), text)
        self.assertEqual(tools.time_text(1500), "1.5 µs")
        self.assertEqual(tools.bytes_text(1 << 30), "1 GiB")


if __name__ == "__main__":
    unittest.main()
