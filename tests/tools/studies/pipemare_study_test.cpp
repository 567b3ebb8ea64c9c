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
#include "tools/studies/pipemare/simulated_models.hpp"
#include "tools/studies/pipemare/study_figures.hpp"
#include "tools/studies/pipemare/study_report.hpp"
#include "tools/studies/pipemare/study_run.hpp"
#include "tools/studies/pipemare/time_to_accuracy.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb {
namespace {

constexpr const char* kDocument = R"({
 "format": "plumbline-study", "version": 1, "seeds": 2,
 "tasks": [{"name": "text", "quality": "loss", "target": 5.5, "words": {"TIMING": "slots"}, "arguments":
 "--network gpt-tiny -p 3 -m 2 --samples 1 --sequence 8 --steps 8 --executor serial --evaluate-every 4 --evaluate-samples 64"}],
 "methods": [{"name": "synchronous", "arguments": "gpipe"},
             {"name": "naive", "title": "naive asynchronous", "arguments": "pipemare --opt timing={TIMING}"}]
})";

Study small_study() { return study_from_json(kDocument, "study.json"); }

StudyRun made_run(const std::string& method, std::int64_t seed, std::vector<double> losses) {
  StudyRun run;
  run.task = "text";
  run.method = method;
  run.seed = seed;
  for (const double loss : losses) {
    run.points.push_back({.update = static_cast<std::int64_t>(run.points.size()) + 1, .train_loss = loss});
  }
  return run;
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
  CHECK(study_command(study.tasks[0], study.methods[1]) ==
        "train pipemare --opt timing=slots " + study.tasks[0].arguments);
  StudyMethod wrong = study.methods[1];
  wrong.arguments = "pipemare --t3-updates {WARMUP}";
  CHECK_THROWS_WITH_AS(study_command(study.tasks[0], wrong), doctest::Contains("{WARMUP}"), Error);
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
  const std::vector<MethodFigures> figures = study_figures(study, runs);
  REQUIRE(figures.size() == 2);
  CHECK(figures[0].quality->mean == 4.5);
  CHECK(figures[0].to_target->mean == 2.5);
  CHECK(figures[1].diverged == 1);
  CHECK(figures[1].quality->mean == 4.5);
  CHECK(figures[1].gap->mean == 0.5);
  CHECK(figures[1].to_target->count == 1);
  const auto json = nlohmann::json::parse(study_json(study, runs));
  CHECK(json["tasks"][0]["methods"][1]["gap"]["mean"] == 0.5);
  CHECK(runs_csv(runs_from_csv(runs_csv(runs), "runs.csv")) == runs_csv(runs));
  CHECK_THROWS_WITH_AS(runs_from_csv("a,b\n", "runs.csv"), doctest::Contains("runs.csv:1"), Error);
}

TEST_CASE("a study trains what is not there yet, and its curves get the times of a cluster") {
  const Study study = small_study();
  std::size_t saved = 0;
  const std::vector<StudyRun> runs = run_study(study, {}, {made_run("naive", 1, {6, 5, 4})},
                                               [&](const std::vector<StudyRun>& all) { saved = all.size(); });
  REQUIRE(runs.size() == 4);
  CHECK(saved == 4);
  for (const StudyRun& run : runs) {
    CAPTURE(run.error);
    CHECK(run.error.empty());
    CHECK(!run.points.empty());
    if (&run != &runs.back()) CHECK(run.points.back().accuracy.has_value());
  }
  CHECK(runs[0].method == "synchronous");
  CHECK(runs[3].points.size() == 3);  // not repeated
  const std::string command = study_command(study.tasks[0], study.methods[1]);
  const SimulatedClock clock = simulated_clock(command, "a100");
  REQUIRE(clock.seconds.size() == 8);
  for (std::size_t i = 1; i < 8; ++i) CHECK(clock.seconds[i] > clock.seconds[i - 1]);
  const PlotCard card = time_to_accuracy(study, study.tasks[0], runs, {"a100", "h100"});
  REQUIRE(card.choices.size() == 2);
  CHECK(card.choices[0].plot->series.size() == 2);
  CHECK(card.choices[0].table->rows.size() == 2);
}

}  // namespace plumb

TEST_SUITE_END();
