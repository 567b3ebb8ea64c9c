#include "tools/measured_steps/stage_times.hpp"
#include "models/kernels/kernel_rates_io.hpp"

#include <doctest/doctest.h>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "models/import/load_network.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb {
namespace {

MeasuredJob small_job() {
  MeasuredStep row;
  row.id = "a";
  row.pipeline = 4;
  row.num_microbatches = 8;
  row.schedule = "1F1B";
  return {row, load_network("gpt2-small"), {}, load_cluster("a100")};
}

}  // namespace

TEST_CASE("measured passes are read with their stage, or as a mean over stages") {
  const auto passes = measured_stage_passes("row_id,stage,pass,ms\na,mean,F,1.5\na,3,B,2\n", "t.csv");
  REQUIRE(passes.size() == 2);
  CHECK(!passes[0].stage);
  CHECK(passes[0].seconds == doctest::Approx(1.5e-3));
  CHECK(passes[1].stage == 3);
  CHECK(passes[1].pass == 'B');
  CHECK_THROWS_WITH_AS(measured_stage_passes("row_id,stage,pass,ms\na,0,X,1\n", "t.csv"),
                       "t.csv:2: pass: expected F, I, W or B, found 'X'", Error);
  CHECK_THROWS_AS(measured_stage_passes("row_id,stage,pass,ms\na,0,F,0\n", "t.csv"), Error);
}

TEST_CASE("passes are predicted by what the stages of their job cost") {
  const std::vector<MeasuredJob> jobs{small_job()};
  const auto passes = passes_of(jobs, measured_stage_passes("row_id,stage,pass,ms\na,mean,F,1\na,3,F,1\na,3,I,1\n"
                                                            "a,3,W,1\nother,0,F,1\n",
                                                            "t.csv"));
  REQUIRE(passes.size() == 4);
  const std::vector<double> seconds = predicted_passes_s(jobs, passes);
  CHECK(seconds[1] > seconds[0]);  // the last stage has the head
  const StageTimes last = measured_job_costs(jobs[0], kernel_rates_of(jobs[0].cluster.devices.front())).costs.times[3];
  CHECK(seconds[2] + seconds[3] == doctest::Approx(static_cast<double>(last.i + last.w) * 1e-9));
  const auto beyond = passes_of(jobs, measured_stage_passes("row_id,stage,pass,ms\na,4,F,1\n", "t.csv"));
  CHECK_THROWS_WITH_AS(predicted_passes_s(jobs, beyond), "a: stage 4 was measured, but the run has 4 stages", Error);
}

}  // namespace plumb

TEST_SUITE_END();
