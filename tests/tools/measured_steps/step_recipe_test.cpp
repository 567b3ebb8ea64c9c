#include "tools/measured_steps/step_recipe.hpp"

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "models/import/load_network.hpp"
#include "tests/support/source_directory.hpp"
#include "tools/measured_steps/step_partition.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb {
namespace {

StepRecipe recipe_of(const std::string& rules) {
  return {R"({"format": "plumbline-recipe", "version": 1, "rules": [)" + rules + "]}", "made.json"};
}

MeasuredStep recipe_row(const std::string& model, const std::string& gpu) {
  MeasuredStep row;
  row.cells = {{"model", model}, {"gpu", gpu}};
  return row;
}

}  // namespace

TEST_CASE("a rule holds for the rows whose columns it names, and later ones win") {
  const StepRecipe recipe = recipe_of(R"({"when": {"gpu": "H100"}, "cluster": "h100", "per_node": 8},
      {"when": {"model": ["Qwen*", "*V3"], "gpu": "H100"}, "network": "n", "job": {"expert_tensor": 1, "zero": 1}},
      {"when": {"model": "Q*3*b"}, "job": {"zero": 3, "recompute": "norm+moe", "format": "mxfp8"}})");
  CHECK(recipe.facts(recipe_row("GPT", "H100")).cluster == "h100");
  CHECK(recipe.facts(recipe_row("GPT", "H100")).network.empty());
  CHECK(recipe.facts(recipe_row("DeepSeekV3", "H100")).network == "n");
  CHECK(recipe.facts(recipe_row("DeepSeekV3", "B200")).network.empty());
  Parallelism job;
  recipe.apply(recipe_row("Qwen_3_30b", "H100"), job);
  CHECK(job.expert_tensor == 1);
  CHECK(job.zero == ZeroStage::kWeights);
  CHECK(job.modules.has(RecomputeModule::kNorm));
  CHECK(job.modules.has(RecomputeModule::kMoe));
  CHECK_FALSE(job.modules.has(RecomputeModule::kActivation));
  CHECK(job.format == MatrixFormat::kMxFp8);
}

TEST_CASE("a recipe says which FlashAttention ran, what stays in 16 bits and whether masks are made") {
  const StepRecipe recipe =
      recipe_of(R"({"when": {"gpu": "A100"}, "flash_version": 1, "kept_layers": 0.25, "job": {"dropout": false}})");
  const RecipeFacts facts = recipe.facts(recipe_row("GPT", "A100"));
  CHECK(facts.flash_version == 1);
  CHECK(facts.kept_layers == 0.25);
  CHECK(recipe.facts(recipe_row("GPT", "H100")).flash_version == 2);
  Parallelism job;
  recipe.apply(recipe_row("GPT", "A100"), job);
  CHECK(job.dropout == false);
  CHECK_THROWS_AS(recipe_of(R"({"when": {}, "kept_layers": 2})"), Error);
}

TEST_CASE(
    "a recipe says which layers the stages have, as Megatron-LM writes it; further tokens stand on the last one") {
  const StepRecipe recipe =
      recipe_of(R"({"when": {"gpu": "B200"}, "layout": "Et*4|(t*4|)*14tmL", "job": {"gradient_passes": "clipped"}})");
  MeasuredStep row = recipe_row("DeepSeekV3", "B200");
  Parallelism job;
  recipe.apply(row, job);
  CHECK(job.gradient_passes == GradientPasses::kClipped);
  const std::string layout = recipe.facts(row).layout;
  row.layers = 61;
  const Network network = load_network(testing::in_source("results/public/networks/deepseek-v3-mtp.json"));
  const Partition partition = step_partition(row, network, 16, layout);
  CHECK(partition.bounds[1] == 1 + 2 * 4);
  CHECK(partition.bounds[15] == 1 + 2 * 60);  // one layer, the module of a further token, two heads
  CHECK(partition.bounds[16] == network.layers.size());
  row.id = "nemo-0136";
  CHECK_THROWS_WITH_AS(step_partition(row, network, 8, layout),
                       "nemo-0136: expected a layout of 8 stages and 61 layers, found 16 and 61", Error);
  CHECK_THROWS_WITH_AS(recipe_of(R"({"when": {}, "layout": "Et*4|(t*4|"})"),
                       doctest::Contains("expected stages as Megatron-LM writes them"), Error);
}

TEST_CASE("a mistake in a recipe is told with its place, whether or not a row meets it") {
  CHECK_THROWS_WITH_AS(recipe_of(R"({"when": {}, "job": {"overlap": true}})"), doctest::Contains("made.json:1:"),
                       Error);
  CHECK_THROWS_WITH_AS(recipe_of(R"({"when": {"gpu": "none"}, "job": {"dispatcher": "post"}})"),
                       doctest::Contains("expected one of all-to-all, deepep"), Error);
  CHECK_THROWS_AS(recipe_of(R"({"cluster": "h100"})"), Error);
}

TEST_CASE("no recipe says nothing") {
  Parallelism job;
  StepRecipe{}.apply(recipe_row("Qwen", "H100"), job);
  CHECK(job == Parallelism{});
  CHECK(StepRecipe{}.facts(recipe_row("Qwen", "H100")).cluster.empty());
}

}  // namespace plumb

TEST_SUITE_END();
