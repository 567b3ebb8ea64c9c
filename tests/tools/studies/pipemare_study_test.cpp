#include "tools/studies/pipemare/study.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "models/ground/error.hpp"
#include "tools/studies/pipemare/memory_formulas.hpp"
#include "tools/studies/pipemare/model_study.hpp"
#include "tools/studies/pipemare/practice_tables.hpp"
#include "tools/studies/pipemare/simulated_models.hpp"
#include "tools/studies/pipemare/study_grid.hpp"
#include "tools/studies/pipemare/study_page.hpp"
#include "tools/studies/pipemare/study_report.hpp"
#include "tools/studies/pipemare/study_run.hpp"
#include "tools/studies/pipemare/study_statements.hpp"
#include "tools/studies/pipemare/time_to_accuracy.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb {
namespace {

constexpr const char* kDocument = R"({
 "format": "plumbline-study", "version": 2, "seeds": 4, "grid_seeds": 2,
 "tasks": [{"name": "text", "quality": "loss", "target": 5.5, "chance": 5.6, "words": {"TIMING": "slots"},
 "rates": ["0.001", "0.003", "0.01"], "further_rates": ["0.0001", "0.03"], "K": ["4", "8"], "D": ["0.1"], "arguments":
 "--network gpt-tiny -p 3 -m 2 --samples 1 --sequence 8 --steps 8 --learning-rate {rate} --executor serial --evaluate-every 4 --evaluate-samples 64"}],
 "methods": [{"name": "synchronous", "arguments": "gpipe"},
             {"name": "naive", "title": "naive asynchronous", "arguments": "pipemare --opt timing={TIMING}"},
             {"name": "t1", "arguments": "pipemare --opt timing={TIMING} --method t1:K={K}"}]
})";

Study small_study() { return study_from_json(kDocument, "study.json"); }

/// The mean loss at the end decides: all losses are held-out ones, too.
StudyRun made_run(const std::string& method, std::int64_t seed, std::vector<double> losses,
                  const std::string& rate = "0.003") {
  const Study study = small_study();
  const auto by = std::ranges::find(study.methods, method, &StudyMethod::name);
  StudyRun run;
  run.task = "text";
  run.method = method;
  run.setting = rule_setting(study.tasks[0], *by, rate);
  run.seed = seed;
  run.command = command_mark(study_command(study.tasks[0], *by, run.setting));
  for (const double loss : losses) {
    run.points.push_back({.update = static_cast<std::int64_t>(run.points.size()) + 1, .train_loss = loss});
    run.points.back().loss = loss;
  }
  return run;
}

/// Runs of all methods at all rates of the grid with seed 0, best at the middle rate.
std::vector<StudyRun> first_grid() {
  std::vector<StudyRun> runs;
  for (const std::string method : {"synchronous", "naive", "t1"}) {
    runs.push_back(made_run(method, 0, {6, 5.2}, "0.001"));
    runs.push_back(made_run(method, 0, {6, 5.0}, "0.003"));
    runs.push_back(made_run(method, 0, {6, 5.3}, "0.01"));
  }
  return runs;
}

/// "naive 0.003 1": method, rate and seed.
std::string described(const PlannedRun& run) {
  return run.method->name + " " + run.setting.rate + " " + std::to_string(run.seed);
}

}  // namespace

TEST_CASE("utilization over GPipe is that of the published table, by formula and simulated") {
  CHECK(utilization_gain(93, 8) == doctest::Approx(12.50).epsilon(1e-3));
  CHECK(utilization_gain(107, 8) == 14.25);
  CHECK(utilization_gain(107, 16) == 7.625);
  CHECK(utilization_gain(107, 32) == 4.3125);
  CHECK(utilization_gain(214, 64) == doctest::Approx(4.33).epsilon(1e-3));
  CHECK(amortised_gain(107, 16, 0.1) == doctest::Approx(4.587).epsilon(1e-3));
  CHECK(amortised_gain(107, 8, 0.2) == doctest::Approx(3.90).epsilon(2e-3));
  const ModelCase pipemare{"pipemare", 16, 4, {{"timing", "slots"}}};
  CHECK(simulated_utilization(pipemare) / simulated_utilization({"gpipe", 16, 4}) ==
        doctest::Approx(utilization_gain(16, 4)));
}

TEST_CASE("activations with recompute are those of the published table") {
  struct Published {
    std::int64_t stages;
    std::int64_t segment;
    std::int64_t stashes;
  };
  for (const auto& [stages, segment, stashes] :
       {Published{47, 7, 676}, Published{93, 10, 1859}, Published{107, 10, 2292}, Published{150, 12, 3779},
        Published{186, 14, 5210}, Published{214, 15, 6421}}) {
    CAPTURE(stages);
    CHECK(best_segment(stages) == segment);
    CHECK(recomputed_activations(stages, segment) == stashes);
    CHECK(recomputed_activations(stages, 1) == stashed_activations(stages));
  }
}

TEST_CASE("equal stages make the weighted delay P / N, and the simulated stash keeps whole versions and the newest") {
  const std::vector<std::int64_t> equal(12, 5);
  CHECK(weighted_delay(equal, 8) == doctest::Approx(1.5));
  const ModelCase pipedream{"pipedream", 12, 8, {{"timing", "slots"}}};
  const double copies = static_cast<double>(simulated_weight_memory(pipedream, equal, 3)) / (4.0 * 60);
  CHECK(copies == doctest::Approx(2 + 1 + weighted_versions(equal, 8)));
}

TEST_CASE("the real layers of ResNet-50 give the published factors of memory, the simulator those of whole versions") {
  const ModelStudy study = study_models("resnet-50-cifar");
  const auto figure = [&](const std::string& name) {
    const auto found = std::ranges::find(study.figures, name, &ModelFigure::name);
    REQUIRE(found != study.figures.end());
    return *found;
  };
  CHECK(figure("parameters").formula == 23520842);
  CHECK(figure("memory-base").formula == doctest::Approx(269.2).epsilon(2e-4));
  CHECK(*figure("memory-base").simulated == doctest::Approx(figure("memory-base").formula));
  CHECK(figure("weighted-delay").formula == doctest::Approx(6.006).epsilon(1e-4));
  CHECK(figure("memory-pipedream").formula == doctest::Approx(2.669).epsilon(2e-4));
  CHECK(figure("memory-pipedream-whole").formula == doctest::Approx((2 + 6.606) / 3).epsilon(1e-4));
  CHECK(*figure("memory-pipedream-newest").simulated == doctest::Approx(figure("memory-pipedream-newest").formula));
  CHECK(*figure("memory-t1").simulated == 1);
  CHECK(*figure("memory-t2").simulated == doctest::Approx(4.0 / 3));
  CHECK(figure("memory-pipedream-t2").formula == doctest::Approx(2.002).epsilon(4e-4));
  for (const std::string name : {"utilization-n8", "utilization-n16", "utilization-n32"}) {
    CHECK(*figure(name).simulated == doctest::Approx(figure(name).formula));
    CHECK(figure(name).formula == doctest::Approx(*figure(name).published).epsilon(5e-3));
  }
  CHECK(study.plots.size() == study.names.size());
}

TEST_CASE("a study's commands are its words put together; a missing one is named") {
  const Study study = small_study();
  const StudyMethod& t1 = study.methods[2];
  const StudySetting setting = rule_setting(study.tasks[0], t1, "0.01");
  CHECK(setting == StudySetting{"0.01", "4", ""});  // t1 uses K and not D
  std::string arguments = study.tasks[0].arguments;
  arguments.replace(arguments.find("{rate}"), 6, "0.01");
  CHECK(study_command(study.tasks[0], t1, setting) == "train pipemare --opt timing=slots --method t1:K=4 " + arguments);
  CHECK(other_settings(study.tasks[0], t1, "0.01") == std::vector<StudySetting>{{"0.01", "8", ""}});
  StudyMethod wrong = t1;
  wrong.arguments = "pipemare --t3-updates {WARMUP}";
  CHECK_THROWS_WITH_AS(study_command(study.tasks[0], wrong, setting), doctest::Contains("{WARMUP}"), Error);
  wrong.words["WARMUP"] = "7";  // a method's own words come first
  CHECK(study_command(study.tasks[0], wrong, setting).starts_with("train pipemare --t3-updates 7 "));
}

TEST_CASE("the first seeds of all methods are planned before anything else, the middle rate first") {
  const Study study = small_study();
  std::vector<std::string> order;
  for (const PlannedRun& run : planned_runs(study, {}, {})) order.push_back(described(run));
  CHECK(order == std::vector<std::string>{"synchronous 0.003 0", "naive 0.003 0", "t1 0.003 0", "synchronous 0.001 0",
                                          "naive 0.001 0", "t1 0.001 0", "synchronous 0.01 0", "naive 0.01 0",
                                          "t1 0.01 0"});
}

TEST_CASE("then the best rate gets its seeds, the grid its second one, and other K and D come last") {
  const Study study = small_study();
  std::vector<std::string> order;
  for (const PlannedRun& run : planned_runs(study, {}, first_grid())) order.push_back(described(run));
  const std::vector<std::string> first{"synchronous 0.003 1", "naive 0.003 1", "t1 0.003 1",
                                       "synchronous 0.003 2", "naive 0.003 2", "t1 0.003 2"};
  REQUIRE(order.size() == 6 + 6 + 3 + 2);
  CHECK(std::vector<std::string>(order.begin(), order.begin() + 6) == first);
  CHECK(order[6].ends_with(" 1"));
  CHECK(std::ranges::count(order, "naive 0.003 3") == 1);
  CHECK(planned_runs(study, {}, first_grid()).back().setting == StudySetting{"0.003", "8", ""});
  CHECK(planned_runs(study, {.tasks = {}, .methods = {"naive"}, .seeds = 2}, first_grid()).size() == 1 + 2);
}

TEST_CASE("a best rate at the edge of the grid asks for the next one, until it is bracketed or nothing is left") {
  const Study study = small_study();
  const StudyMethod& naive = study.methods[1];
  std::vector<StudyRun> runs = first_grid();
  for (StudyRun& run : runs) {
    if (run.method == "naive" && run.setting.rate == "0.01") run.points.back().loss = 4.0;
  }
  CHECK(best_rate(study.tasks[0], naive, runs) == "0.01");
  CHECK(!is_bracketed(study.tasks[0], naive, runs));
  std::vector<PlannedRun> planned = planned_runs(study, {.tasks = {}, .methods = {"naive"}}, runs);
  REQUIRE(planned.size() == 1);
  CHECK(described(planned[0]) == "naive 0.03 0");
  runs.push_back(made_run("naive", 0, {6, 5.5}, "0.03"));
  CHECK(is_bracketed(study.tasks[0], naive, runs));
  planned = planned_runs(study, {.tasks = {}, .methods = {"naive"}}, runs);
  CHECK(described(planned[0]) == "naive 0.01 1");
  runs.back().points.back().loss = 3.0;  // the last rate there is
  CHECK(!is_bracketed(study.tasks[0], naive, runs));
  planned = planned_runs(study, {.tasks = {}, .methods = {"naive"}}, runs);
  CHECK(described(planned[0]) == "naive 0.03 1");
}

TEST_CASE("a task with seeds of its own is run with those") {
  std::string text = kDocument;
  text.insert(text.find("\"quality\""), "\"seeds\": 2, \"grid_seeds\": 1, ");
  const Study study = study_from_json(text, "study.json");
  std::vector<std::string> order;
  for (const PlannedRun& run : planned_runs(study, {}, first_grid())) order.push_back(described(run));
  const std::vector<std::string> expected{"synchronous 0.003 1", "naive 0.003 1", "t1 0.003 1", "t1 0.003 0"};
  CHECK(order == expected);  // the last one with the other K
}

TEST_CASE("a run diverges when it ends no better than chance, worse than it began, or as no number") {
  Study study = small_study();
  StudyTask& task = study.tasks[0];
  CHECK(!has_diverged(task, made_run("naive", 0, {5.55, 5.5})));
  CHECK(has_diverged(task, made_run("naive", 0, {6, 5.6})));         // chance
  CHECK(has_diverged(task, made_run("naive", 0, {5.2, 4.9, 5.3})));  // worse than at the start
  CHECK(has_diverged(task, made_run("naive", 0, {6, std::nan(""), 5})));
  CHECK(has_diverged(task, made_run("naive", 0, {})));
  task.by_accuracy = true;
  task.chance = 0.13;
  StudyRun run = made_run("naive", 0, {2.4, 2.3});
  run.points.back().accuracy = 0.12;
  CHECK(has_diverged(task, run));
  run.points.back().accuracy = 0.14;
  CHECK(!has_diverged(task, run));
}

TEST_CASE("a run of another command is not a run of the study") {
  Study study = small_study();
  const std::vector<StudyRun> runs = first_grid();
  CHECK(runs_of_study(study, runs).size() == runs.size());
  study.tasks[0].arguments += " --warmup 2";
  CHECK(runs_of_study(study, runs).empty());
  study = small_study();
  study.methods[2].tasks = {"other"};
  CHECK(runs_of_study(study, runs).size() == 6);
}

TEST_CASE("estimates have Student's intervals") {
  const SeedMean of = estimate({1, 2, 3, 4, 5});
  CHECK(of.mean == 3);
  CHECK(*of.half_width == doctest::Approx(2.776 * std::sqrt(2.5 / 5)));
  CHECK(!estimate({7}).half_width);
}

TEST_CASE("figures of a study: gaps by seed, divergence apart, updates until the target") {
  const Study study = small_study();
  const std::vector<StudyRun> runs{made_run("synchronous", 0, {6, 5, 4}), made_run("synchronous", 1, {6, 5.6, 5}),
                                   made_run("naive", 0, {6, 5.6, 4.5}), made_run("naive", 1, {6, 7, std::nan("")})};
  const std::vector<MethodFigures> figures = best_figures(study, runs, study.tasks[0]);
  REQUIRE(figures.size() == 2);
  CHECK(figures[0].quality->mean == 4.5);
  CHECK(figures[0].to_target->mean == doctest::Approx((1.5 + 2 + 0.1 / 0.6) / 2));  // between evaluations
  CHECK(figures[1].diverged == 1);
  CHECK(figures[1].quality->mean == 4.5);
  CHECK(figures[1].gap->mean == 0.5);
  CHECK(figures[1].to_target->count == 1);
  CHECK(update_factor(figures[0], figures[0]) == 1);
  CHECK(!update_factor(figures[0], figures[1]));  // one of two is not most
  const auto json = nlohmann::json::parse(study_json(study, runs));
  CHECK(json["tasks"][0]["methods"][1]["gap"]["mean"] == 0.5);
  CHECK(json["tasks"][0]["methods"][1]["rate"] == "0.003");
  CHECK(runs_csv(runs_from_csv(runs_csv(runs), "runs.csv")) == runs_csv(runs));
  CHECK_THROWS_WITH_AS(runs_from_csv("a,b\n", "runs.csv"), doctest::Contains("runs.csv:1"), Error);
}

TEST_CASE("runs that differ in rate, K, D or command are different runs in the table") {
  std::vector<StudyRun> runs{made_run("t1", 0, {6, 5}, "0.001"), made_run("t1", 0, {6, 5}, "0.003"),
                             made_run("t1", 0, {6, 5}, "0.003"), made_run("t1", 0, {6, 5}, "0.003"),
                             made_run("t1", 0, {6, 5}, "0.003")};
  runs[2].setting.k = "8";
  runs[3].setting.d = "0.5";
  runs[4].command = "00000000";
  const std::vector<StudyRun> read = runs_from_csv(runs_csv(runs), "runs.csv");
  REQUIRE(read.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(read[i].setting == runs[i].setting);
    CHECK(read[i].command == runs[i].command);
    CHECK(read[i].points == runs[i].points);
  }
}

TEST_CASE("the answer names a method whose best rate may lie beyond the grid, as at most so far behind") {
  const Study study = small_study();
  std::vector<StudyRun> runs = first_grid();
  for (StudyRun& run : runs) {
    if (run.method == "t1") run.points.back().loss = 5.4;  // no worse at the edges than between them
  }
  runs[8].points.back().loss = 5.1;  // t1 at the highest rate
  REQUIRE_FALSE(is_bracketed(study.tasks[0], study.methods[2], runs));
  CHECK(study_answer(study, runs).find("text: at most 0.10 nats (naive 0.00)") != std::string::npos);
  runs.resize(6);
  CHECK(study_answer(study, runs).find("text: not run (naive 0.00)") != std::string::npos);
}

TEST_CASE("methods are stable up to the highest rate below the first that diverges") {
  const Study study = small_study();
  const StudyTask& task = study.tasks[0];
  std::vector<StudyRun> runs = first_grid();
  CHECK(stable_rates(task, study.methods[1], runs).highest == "0.01");
  CHECK(!stable_rates(task, study.methods[1], runs).first_diverged);
  runs.push_back(made_run("naive", 1, {5, 7}, "0.003"));
  CHECK(stable_rates(task, study.methods[1], runs).highest == "0.001");
  CHECK(stable_rates(task, study.methods[1], runs).first_diverged == "0.003");
}

TEST_CASE("more updates are measured by delay, and decide what to take between the nearest delays") {
  const Study study = small_study();
  std::vector<StudyRun> runs = first_grid();
  CHECK(measured_factors(study, {}, {"t1"}).empty());
  std::vector<MeasuredFactor> measured = measured_factors(study, runs, {"naive", "t1"});
  REQUIRE(measured.size() == 1);
  CHECK(measured[0].factor == 1);  // all reach 5.5 with the second point
  CHECK(measured[0].delay == 2.5);
  for (StudyRun& run : runs) {
    if (run.method == "t1") run.points.back().loss = run.setting.rate == "0.003" ? 5.52 : 5.54;
  }
  measured = measured_factors(study, runs, {"t1"});
  REQUIRE(measured.size() == 1);
  CHECK(!measured[0].reached);
  CHECK(measured[0].factor == doctest::Approx(8 / 1.5));  // updates of the command, and of the synchronous run
  CHECK(factors_text(measured) == "more than 5.33x at a delay of 2.5 (text)");

  // P = 8 and N = 8 are 1.875 updates late, and 1F1B needs (N + P - 1) / N = 1.875 times the time of busy devices.
  const auto row = [](const std::vector<MeasuredFactor>& of) {
    const PlotTable table = practice_table(of);
    REQUIRE(table.rows.front().size() == table.head.size());
    REQUIRE(table.rows.front()[0] == "8");
    return table.rows.front();
  };
  CHECK(row({})[11] == "at least 1.00x");
  CHECK(row({})[13].starts_with("try both"));
  const StudyTask* task = &study.tasks[0];
  CHECK(row({{task, 1.5, 1.1, true}, {task, 2, 1.2, true}})[11] == "1.10 to 1.20x");
  CHECK(row({{task, 1.5, 1.4, true}})[13] == "ZB-H1, PipeMare gains 3 % at most");
  CHECK(row({{task, 1.5, 1.3, true}, {task, 1.6, 1.2, false}})[11] == "at least 1.30x");
  CHECK(row({{task, 1.5, 3, true}, {task, 2, 4, true}})[13] == "ZB-H1");
}

TEST_CASE("the bound on the rate falls with the delay as that of one weight does") {
  CHECK(stability_bound(0, 0.9) == 1);
  CHECK(stability_bound(0, 0) == 1);
  // Without momentum a delay of 1 allows a rate of 1 instead of 2 (z^2 - z + a).
  CHECK(stability_bound(1, 0) == doctest::Approx(0.5).epsilon(1e-6));
  CHECK(stability_bound(8, 0.9) < stability_bound(4, 0.9));
}

TEST_CASE("what was not run is counted by method") {
  const Study study = small_study();
  CHECK(missing_cells(study, first_grid()) ==
        std::vector<std::string>{"text: 6 runs of the grid over rates (naive asynchronous 2, synchronous 2, t1 2); 9 "
                                 "further seeds at the best rates (naive asynchronous 3, synchronous 3, t1 3); 2 runs "
                                 "with other K and D"});
}

TEST_CASE("a study trains what is not there yet, goes on where it was, and its curves get the times of a cluster") {
  Study study = small_study();
  study.seeds = study.grid_seeds = 1;
  study.tasks[0].further_rates.clear();
  study.tasks[0].k.resize(1);
  std::size_t saved = 0;
  const auto save = [&](const std::vector<StudyRun>& all) { saved = all.size(); };
  const std::vector<StudyRun> runs = run_study(study, {}, {made_run("t1", 0, {6, 5, 4}, "0.01")}, save);
  REQUIRE(runs.size() == 9);
  CHECK(saved == 9);
  for (const StudyRun& run : runs) {
    CAPTURE(run.error);
    CHECK(run.error.empty());
    CHECK(!run.points.empty());
    if (&run != &runs.back()) CHECK(run.points.back().accuracy.has_value());
  }
  CHECK(runs[0].method == "synchronous");
  CHECK(runs[8].points.size() == 3);  // not repeated
  saved = 0;
  CHECK(run_study(study, {}, runs_from_csv(runs_csv(runs), "runs.csv"), save).size() == 9);
  CHECK(saved == 0);  // nothing was left to do
  const std::string command = study_command(study.tasks[0], study.methods[1], runs[3].setting);
  const SimulatedClock clock = simulated_clock(command, "a100");
  REQUIRE(clock.seconds.size() == 8);
  for (std::size_t i = 1; i < 8; ++i) CHECK(clock.seconds[i] > clock.seconds[i - 1]);
  const PlotCard card = time_to_accuracy(study, study.tasks[0], runs, {"a100", "h100"});
  REQUIRE(card.choices.size() == 2);
  CHECK(card.choices[0].plot->series.size() == 3);
  CHECK(card.choices[0].table->rows.size() == 3);
  CHECK(first_delay(command) == 2.5);  // D = 5 of three stages in slots, two microbatches per update
  const PlotTable stable = stability_table(study, study.tasks[0], runs);
  CHECK(stable.rows.size() == 3);
  for (const auto& row : stable.rows) CHECK(row.size() == stable.head.size());
  CHECK(trained_bytes(study_command(study.tasks[0], study.methods[0], runs[0].setting)) ==
        trained_bytes(command));  // one version of the weights, no correction
  const PlotPage page = study_page({}, study, runs, {});
  CHECK(page.cards.front().title == "The answer");
}

}  // namespace plumb

TEST_SUITE_END();
