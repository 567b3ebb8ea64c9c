#!/usr/bin/env python3
"""Whether results/recipes holds what its README says: every model that was run on every cluster, beside what was published.

The numbers are those of one run (tools/plans/recipes.py), which takes too long for a test.
"""

import csv
import importlib.util
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "results/recipes"
spec = importlib.util.spec_from_file_location("recipes", ROOT / "tools/plans/recipes.py")
recipes = importlib.util.module_from_spec(spec)
sys.dont_write_bytecode = True
spec.loader.exec_module(recipes)


class Recipes(unittest.TestCase):
    def setUp(self):
        with open(FOLDER / "recipes.csv", newline="") as file:
            self.rows = list(csv.DictReader(file))

    def test_every_model_has_every_cluster_and_format(self):
        searched = {(row["model"], row["cluster"], row["format"]) for row in self.rows if row["best_layout"]}
        models = {model for model, _, _ in searched}
        self.assertEqual(models, {network for network, *_ in recipes.MODELS})
        for network in models:
            for cluster, _, eight_bits in recipes.CLUSTERS:
                for form in filter(None, ["bf16", eight_bits]):
                    self.assertIn((network, cluster, form), searched)

    def test_answers_fit_and_have_a_command(self):
        for row in self.rows:
            if not row["best_layout"] or row["best_layout"] == "nothing fits":
                continue
            self.assertIn(row["best_verdict"], ("fits", "tight"))
            self.assertGreater(float(row["best_tokens_per_s_per_gpu"]), 0)
            self.assertLess(float(row["gap"]), 1)

    def test_published_layouts_stand_beside_a_prediction(self):
        published = [row for row in self.rows if row["published_layout"]]
        self.assertGreaterEqual(len(published), 30)
        for row in published:
            self.assertTrue(row["published_tokens_per_s_per_gpu"] or row["published_tflops_per_gpu"])
            self.assertTrue(row["predicted_tokens_per_s_per_gpu"] or row["predicted_verdict"])
        with open(ROOT / "results/public/nemo.csv", newline="") as file:
            measured = {row["row_id"]: row for row in csv.DictReader(file)}
        elsewhere = {(facts["model"], facts["source"]): facts for facts in recipes.ELSEWHERE}
        for row in published:
            if row["published_source"] in measured:
                self.assertEqual(row["published_tokens_per_s_per_gpu"],
                                 measured[row["published_source"]]["tokens_per_s_per_gpu"])
            elif row["published_source"] != recipes.LLAMA3_SOURCE:
                facts = elsewhere[row["model"], row["published_source"]]
                self.assertEqual(row["published_tokens_per_s_per_gpu"], str(facts["tokens"]))
                self.assertEqual(int(row["gpus"]), facts["gpus"])

    def test_the_page_is_that_of_the_table(self):
        self.assertEqual((FOLDER / "recipes.md").read_text(), recipes.markdown(self.rows))

    def test_a_cluster_has_equally_many_devices_on_every_node(self):
        self.assertEqual(recipes.sized_cluster("h100", 64), "h100-8x8")
        self.assertEqual(recipes.sized_cluster("gb200", 1024), "gb200-16x64")
        self.assertEqual(recipes.sized_cluster("gb200", 8), "gb200-1x8")

    def test_an_even_cut_counts_embedding_and_head_where_that_divides(self):
        self.assertEqual(recipes.even_cut(80, 4), "41,40,40,42")
        self.assertEqual(recipes.even_cut(126, 64).split(",")[0], "3")
        self.assertEqual(recipes.even_cut(61, 16).count(","), 15)
        self.assertEqual(sum(map(int, recipes.even_cut(61, 16).split(","))), 2 * 61 + 3)


if __name__ == "__main__":
    unittest.main()
