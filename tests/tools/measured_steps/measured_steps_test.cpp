#include <cmath>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "models/kernels/kernel_rates_io.hpp"
#include "models/network/network_check.hpp"
#include "models/stages/network_costs.hpp"
#include "tools/measured_steps/csv_table.hpp"
#include "tools/measured_steps/measured_job.hpp"
#include "tools/measured_steps/step_scores.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb {
namespace {

constexpr std::string_view kHeader =
    "row_id,source,model,layers,hidden,ffn,heads,kv_heads,seq,vocab,experts,moe_topk,moe_ffn,gpu,num_gpus,tp,pp,vp,dp,"
    "ep,cp,microbatch_size,global_batch,num_microbatches,schedule,recompute,precision,measured_step_time_s,"
    "tokens_per_s_per_gpu,samples_per_s,tflops_per_gpu,measured_memory_gib,memory_unit_published,"
    "published_prediction_step_time_s,published_prediction_memory_gib,published_prediction_tokens_per_s_per_gpu,"
    "published_error_time_pct,published_error_memory_pct,note\n";

MeasuredStep row_of(const std::string& line, const std::string& file = "vtrain.csv") {
  return measured_steps(std::string(kHeader) + line + "\n", file).front();
}

const std::string kLogged =
    "a,s,GPT,24,1024,4096,16,16,1024,50257,,,,A100,8,2,4,1,1,1,1,2,16,8,1F1B,full,,0.5,,,,,,,,,,,\"one, two\"";

}  // namespace

TEST_CASE("fields in quotes hold commas, quotes and line feeds; lines are counted through them") {
  const CsvTable table("a,b\n\"1,5\",\"say \"\"x\"\"\nand y\"\n2,3\n", "t.csv");
  CHECK(table.size() == 2);
  CHECK(table.cell(0, "a") == "1,5");
  CHECK(table.cell(0, "b") == "say \"x\"\nand y");
  CHECK(table.whole(1, "b") == 3);
  CHECK(table.where(1) == "t.csv:4");
  CHECK_THROWS_WITH_AS(CsvTable("a,b\n1\n", "t.csv"), "t.csv:2: 1 fields, expected 2 as in the header", Error);
  CHECK_THROWS_AS(CsvTable("a\n\"1\n", "t.csv"), Error);
  CHECK_THROWS_WITH_AS(table.cell(0, "c"), "t.csv: has no column 'c'", Error);
  CHECK_THROWS_AS(table.number(0, "b"), Error);
}

TEST_CASE("a table of more fields than any has is refused before they are stored") {
  const std::string columns = std::string(999, ',') + "\n";
  std::string text;
  for (int row = 0; row < 1000; ++row) text += columns;
  CHECK(CsvTable(text, "t.csv").size() == 999);
  CHECK_THROWS_WITH_AS(CsvTable(text + ",", "t.csv"), "t.csv:1001: expected a table of at most 1000000 fields", Error);
}

TEST_CASE("step times come from the log, or from throughput by the batch") {
  CHECK(row_of(kLogged).step_s == 0.5);
  const std::string head = "a,s,GPT,24,1024,4096,16,16,1024,,,,,A100,8,1,8,1,1,1,1,6,144,24,1F1B,,,";
  CHECK(row_of(head + ",,94.4,,30,GB,,,,,,").step_s == doctest::Approx(144 / 94.4));
  CHECK(row_of(head + ",1000,,,,,,,,,,").step_s == doctest::Approx(144 * 1024 / (1000.0 * 8)));
  CHECK(row_of(head + ",,,120,,,,,,,,").step_s == 0);  // TFLOP/s are counted differently by every source
}

TEST_CASE("rows that are no steps, or do not say enough, are refused with the reason") {
  CHECK(refusal(row_of(kLogged)).empty());
  MeasuredStep row = row_of(kLogged, "megatron-papers.csv");
  row.id = "korthikanti-t4-layer-selective";
  CHECK(refusal(row) == "time of one layer, not of a step");
  row = row_of(kLogged);
  row.microbatch_size = 0;
  CHECK(refusal(row) == "batch is not stated");
  row = row_of(kLogged);
  row.layers = 4097;
  CHECK(refusal(row) == "more than 4096 layers");
  row = row_of(kLogged);
  row.step_s = 0;
  CHECK(refusal(row) == "no step time or throughput is stated");
  row = row_of(kLogged);
  row.precision = "FP8";
  CHECK(refusal(row).empty());
  row = row_of(kLogged);
  row.schedule = "1F1B + vocabulary parallel (1 barrier)";
  CHECK(refusal(row).empty());
  CHECK(refusal(row_of(kLogged, "primus.csv")) == "batch, sequence or layers are not stated");
}

TEST_CASE("networks of rows have the parameters of their recipe") {
  const MeasuredStep gpt = row_of(kLogged);
  check_network(step_network(gpt));
  const std::int64_t h = 1024;
  CHECK(parameter_count(step_network(gpt)) == 24 * (12 * h * h + 13 * h) + 50257 * h + 1024 * h + 2 * h);
  const MeasuredStep moe = row_of(
      "m,s,DeepSeek-V2,4,5120,12288,128,128,4096,102400,160,6,1536,B200,8,1,1,1,8,8,1,1,32,4,none,none,bf16,0.37,,,,,,,"
      ",,,,",
      "simumax.csv");
  const Network network = step_network(moe);
  check_network(network);
  CHECK(network.layers[2].body[1].kind == LayerKind::kMlp);
  CHECK(network.layers[4].body[1].kind == LayerKind::kMoe);
  CHECK(network.layers[4].body[1].shared_experts == 2);
  CHECK(network.layers[1].body[1].kind == LayerKind::kLatentAttention);
}

TEST_CASE("rows are dealt to halves by their id alone") {
  int fitted = 0;
  for (int k = 0; k < 1000; ++k) {
    MeasuredStep row;
    row.id = "vtrain-single-" + std::to_string(k);
    fitted += row.fits_constants() ? 1 : 0;
  }
  CHECK(fitted > 400);
  CHECK(fitted < 600);
}

TEST_CASE("a prediction follows its configuration: twice the microbatches take longer, twice the speed shorter") {
  MeasuredJob job{row_of(kLogged), step_network(row_of(kLogged)), step_parallelism(row_of(kLogged)), {}};
  job.cluster = *step_cluster(job.row);
  const KernelRates rates = kernel_rates_of(job.cluster.devices.front());
  const double once = predicted_step_s(job, rates);
  CHECK(once > 0);
  MeasuredJob more = job;
  more.row.num_microbatches *= 2;
  CHECK(predicted_step_s(more, rates) > 1.5 * once);
  KernelRates fast = rates;
  fast.host_ns /= 2;
  fast.kernel_ns /= 2;
  CHECK(predicted_step_s(job, fast) < once);
}

TEST_CASE("scores of rows worked by hand") {
  const StepScore score = step_score({1.1, 1.8, 3.0, 5.0}, {1, 2, 3, 4});
  CHECK(score.mape == doctest::Approx((0.1 + 0.1 + 0 + 0.25) / 4));
  CHECK(score.bias == doctest::Approx((0.1 - 0.1 + 0 + 0.25) / 4));
  CHECK(score.worst == 3);
  CHECK(score.rank_correlation == doctest::Approx(1));
  CHECK(rank_correlation({1, 2, 3}, {3, 2, 1}) == doctest::Approx(-1));
  CHECK(rank_correlation({1, 2, 2, 3}, {1, 2, 3, 4}) == doctest::Approx(0.9486832981));
  CHECK(std::isnan(rank_correlation({1, 2}, {1, 2})));
  CHECK(std::isnan(rank_correlation({1, 1, 1}, {1, 2, 3})));
}

}  // namespace plumb

TEST_SUITE_END();
