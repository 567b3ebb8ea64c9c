#include "tools/measured_steps/job_choices.hpp"

#include <doctest/doctest.h>

TEST_SUITE_BEGIN("tools");

namespace plumb {
namespace {

MeasuredJob way(const char* model, const char* schedule, double measured_s) {
  MeasuredJob job;
  job.row.data = "d";
  job.row.model = model;
  job.row.schedule = schedule;
  job.row.step_s = measured_s;
  return job;
}

}  // namespace

TEST_CASE("ways to run one job are ranked among themselves, and the choice is judged by what it really took") {
  const std::vector<MeasuredJob> jobs{way("A", "1F1B", 4),  way("B", "1F1B", 1), way("A", "ZB", 2),
                                      way("A", "GPipe", 5), way("B", "ZB", 2),   way("A", "V", 3)};
  const std::vector<double> predicted{4, 9, 3, 5, 1, 2};  // of model A: V before ZB
  const std::vector<JobChoices> choices = job_choices(jobs, predicted);
  REQUIRE(choices.size() == 1);  // two ways to run B are too few
  CHECK(choices[0].rows == std::vector<std::size_t>{0, 2, 3, 5});
  CHECK(choices[0].rank_correlation == doctest::Approx(0.8));
  CHECK(!choices[0].fastest_found);
  CHECK(choices[0].regret == doctest::Approx(0.5));
  const ChoiceScore score = choice_score(choices);
  CHECK(score.jobs == 1);
  CHECK(score.fastest_found == 0);
}

}  // namespace plumb

TEST_SUITE_END();
