#include <cmath>
#include <iterator>
#include <map>
#include <string>
#include <variant>

#include <doctest/doctest.h>

#include "models/ground/text_file.hpp"
#include "models/kernels/kernel_rates_io.hpp"
#include "tests/support/source_directory.hpp"
#include "tools/measured_steps/stage_times.hpp"
#include "tools/measured_steps/step_scores.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb {
namespace {

std::vector<MeasuredJob> published_jobs(const std::string& name) {
  const std::string folder = testing::in_source("results/public");
  const RecipeSource source = step_source(folder, name);
  std::vector<MeasuredJob> jobs;
  for (const MeasuredStep& row : measured_steps(read_text_file(folder + "/" + name + ".csv"), name + ".csv")) {
    std::variant<MeasuredJob, std::string> job = measured_job(row, source);
    if (std::holds_alternative<MeasuredJob>(job)) jobs.push_back(std::get<MeasuredJob>(std::move(job)));
  }
  return jobs;
}

/// Rates that none of the group's rows has fitted.
KernelRates rates_without(const std::string& group) {
  const std::string file = testing::in_source("results/public/left-out/" + group + ".json");
  return kernel_rates_from_json(read_text_file(file), file);
}

double step_error(const std::vector<MeasuredJob>& jobs, const std::vector<double>& predicted) {
  std::vector<double> measured;
  for (const MeasuredJob& job : jobs) measured.push_back(job.row.step_s);
  return step_score(predicted, measured).mape;
}

}  // namespace

TEST_CASE("the zero-bubble paper's stages and steps are predicted with rates that none of its rows fitted") {
  const std::vector<MeasuredJob> jobs = published_jobs("zero-bubble-paper");
  const KernelRates rates = rates_without("zero-bubble-paper");
  const std::vector<double> steps = predicted_steps_s(jobs, &rates);
  CHECK(step_error(jobs, steps) < 0.043);
  const std::string file = testing::in_source("results/public/stage-times.csv");
  const std::vector<StagePassOfJob> passes = passes_of(jobs, measured_stage_passes(read_text_file(file), file));
  const std::vector<double> predicted = predicted_passes_s(jobs, passes, &rates);
  for (const char pass : {'F', 'I', 'W'}) {
    CAPTURE(pass);
    double error = 0;
    double count = 0;
    for (std::size_t k = 0; k < passes.size(); ++k) {
      if (passes[k].measured.pass != pass) continue;
      error += std::abs(predicted[k] / passes[k].measured.seconds - 1);
      ++count;
    }
    CHECK(count == 12);
    CHECK(error / count < 0.08);
  }
}

TEST_CASE("the first stage's backward makes the gradient of a whole table: it takes longer by what the table has") {
  const std::vector<MeasuredJob> jobs = published_jobs("vocabulary-parallel");
  const std::string file = testing::in_source("results/public/stage-times.csv");
  const std::vector<StagePassOfJob> passes = passes_of(jobs, measured_stage_passes(read_text_file(file), file));
  const KernelRates rates = rates_without("vocabulary-parallel");
  const std::vector<double> predicted = predicted_passes_s(jobs, passes, &rates);
  std::map<std::size_t, std::map<std::size_t, std::pair<double, double>>> backward;  // by job and stage
  for (std::size_t k = 0; k < passes.size(); ++k) {
    const MeasuredStagePass& pass = passes[k].measured;
    if (pass.pass == 'B' && pass.stage) backward[passes[k].job][*pass.stage] = {pass.seconds, predicted[k]};
  }
  int tables = 0;
  for (auto& [job, stages] : backward) {
    const MeasuredStep& row = jobs[job].row;
    if (row.vocabulary < 100'000) continue;  // within what stages differ by anyhow
    CAPTURE(row.id);
    const double measured = stages[0].first - stages[1].first;
    CHECK(measured > 2e-3);
    CHECK(stages[0].second - stages[1].second == doctest::Approx(measured).epsilon(0.35));
    ++tables;
  }
  CHECK(tables >= 3);
}

TEST_CASE("steps of other groups are predicted with rates that none of their rows fitted") {
  const auto error_without = [](const std::string& data) {
    const std::vector<MeasuredJob> jobs = published_jobs(data);
    const KernelRates rates = rates_without(data);
    return step_error(jobs, predicted_steps_s(jobs, &rates));
  };
  CHECK(error_without("megatron-papers") < 0.03);
  CHECK(error_without("vocabulary-parallel") < 0.035);
}

TEST_CASE("the vocabulary-parallel jobs are predicted at both lengths, stages too, and so is their second run") {
  const KernelRates rates = rates_without("vocabulary-parallel");
  const std::vector<MeasuredJob> jobs = published_jobs("vocabulary-parallel");
  for (const std::int64_t length : {2048, 4096}) {
    CAPTURE(length);
    std::vector<MeasuredJob> of_length;
    for (const MeasuredJob& job : jobs) {
      if (job.row.sequence == length) of_length.push_back(job);
    }
    CHECK(of_length.size() >= 7);
    CHECK(step_error(of_length, predicted_steps_s(of_length, &rates)) < 0.05);
  }
  const std::string file = testing::in_source("results/public/stage-times.csv");
  const std::vector<StagePassOfJob> passes = passes_of(jobs, measured_stage_passes(read_text_file(file), file));
  const std::vector<double> predicted = predicted_passes_s(jobs, passes, &rates);
  double error = 0;
  for (std::size_t k = 0; k < passes.size(); ++k) error += std::abs(predicted[k] / passes[k].measured.seconds - 1);
  CHECK(passes.size() == 128);
  CHECK(error / static_cast<double>(passes.size()) < 0.035);
  const std::vector<MeasuredJob> again = published_jobs("vocabulary-rerun");
  CHECK(again.size() == 20);
  CHECK(step_error(again, predicted_steps_s(again, &rates)) < 0.075);
}

TEST_CASE("vTrain's rows of one node are sums: a microbatch adds the same to six digits, whatever else a job has") {
  std::map<std::string, std::map<double, double>> times;
  for (const MeasuredJob& job : published_jobs("vtrain")) {
    const MeasuredStep& row = job.row;
    if (row.num_gpus > 8) continue;
    CHECK(job.parallelism.recompute == ActivationRecompute::kNone);
    std::string rest;
    for (const std::int64_t each :
         {row.hidden, row.layers, row.tensor, row.pipeline, row.data_degree, row.microbatch_size}) {
      rest += std::to_string(each) + " ";
    }
    times[rest][static_cast<double>(row.num_microbatches)] = row.step_s;
  }
  int triples = 0;
  for (const auto& [rest, steps] : times) {
    if (steps.size() < 3) continue;
    ++triples;
    const auto first = steps.begin();
    const auto second = std::next(first);
    const auto last = std::prev(steps.end());
    const double slope = (last->second - first->second) / (last->first - first->first);
    CAPTURE(rest);
    CHECK(second->second == doctest::Approx(first->second + slope * (second->first - first->first)).epsilon(1e-6));
  }
  CHECK(triples > 50);
}

TEST_CASE("vTrain's steps on one node and on several are predicted with rates that none of their rows fitted") {
  std::vector<MeasuredJob> one;
  std::vector<MeasuredJob> several;
  for (const MeasuredJob& job : published_jobs("vtrain")) (job.row.num_gpus > 8 ? several : one).push_back(job);
  const KernelRates without_one = rates_without("vtrain-one-node");
  CHECK(step_error(one, predicted_steps_s(one, &without_one)) < 0.07);
  const KernelRates without_several = rates_without("vtrain-several-nodes");
  CHECK(step_error(several, predicted_steps_s(several, &without_several)) < 0.08);
}

TEST_CASE("steps are predicted on devices whose tables no step has fitted") {
  const auto error_of = [](const std::string& data) {
    const std::vector<MeasuredJob> jobs = published_jobs(data);
    return step_error(jobs, predicted_steps_s(jobs, nullptr));
  };
  CHECK(error_of("nemo") < 0.098);
  CHECK(error_of("simumax") < 0.028);
  CHECK(error_of("megatron-moe") < 0.097);
  CHECK(error_of("bigscience") < 0.087);
  CHECK(error_of("megatron-bridge") < 0.087);
}

}  // namespace plumb

TEST_SUITE_END();
