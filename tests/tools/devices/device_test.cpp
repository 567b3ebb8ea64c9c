#include <algorithm>
#include <cmath>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "models/import/load_network.hpp"
#include "models/jobs/job_costs.hpp"
#include "models/kernels/kernel_rates_io.hpp"
#include "models/kernels/rates_text.hpp"
#include "models/stages/partition.hpp"
#include "tests/support/source_directory.hpp"
#include "tools/devices/kernel_list.hpp"
#include "tools/devices/measured_device.hpp"
#include "tools/devices/nccl_tests.hpp"
#include "tools/devices/simumax_file.hpp"
#include "tools/devices/step_check.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb {
namespace {

std::string data_text(const std::string& name) {
  return read_text_file(testing::in_source("tests/tools/devices/data/" + name));
}

KernelTimings data_timings(const std::string& name) { return kernel_timings_from_json(data_text(name), name); }

KernelRates rates_by(const KernelTimings& timings, const Cluster& cluster) {
  return measured_rates(timings, cluster, kernel_rates_of(cluster.devices.front()));
}

double step_error(const TimedStep& predicted, const TimedStep& measured) {
  return predicted.step_s / measured.step_s - 1;
}

}  // namespace

TEST_CASE("kernels that PyTorch ran on a CPU predict the training step that it ran beside them within 15 %") {
  const KernelTimings timings = data_timings("gpt-mini-cpu.json");
  const Cluster cluster = measured_cluster(timings);
  const KernelRates rates = rates_by(timings, cluster);
  CHECK(rates.basis == RatesBasis::kMeasured);
  CHECK(rates.gemms.size() == 15);
  const TimedStep predicted = step_of_kernels(load_network("gpt-mini"), timings, cluster, rates);
  CHECK(std::abs(step_error(predicted, *timings.step)) < 0.15);
  CHECK(std::abs(predicted.forward_s / timings.step->forward_s - 1) < 0.15);
  CHECK(std::abs(predicted.backward_s / timings.step->backward_s - 1) < 0.15);
}

TEST_CASE("kernels of microbatches of 2 samples predict the measured step of 4, whose shapes were not timed") {
  const KernelTimings two = data_timings("gpt-mini-cpu.json");
  const KernelTimings four = data_timings("gpt-mini-cpu-4.json");
  const Cluster cluster = measured_cluster(two);
  const TimedStep predicted = step_of_kernels(load_network("gpt-mini"), four, cluster, rates_by(two, cluster));
  CHECK(std::abs(step_error(predicted, *four.step)) < 0.2);
  CHECK(predicted.step_s > 1.7 * two.step->step_s);
}

TEST_CASE(
    "the memory's peak of an H200 is that of copies, no more than the memory has; its training step is predicted "
    "within 6 %") {
  const std::string name = "results/fidelity/h200/timings.json";
  const KernelTimings timings = kernel_timings_from_json(read_text_file(testing::in_source(name)), name);
  const Cluster cluster = measured_cluster(timings);
  const DeviceSpec& device = cluster.devices.front();
  const DeviceSpec nominal = load_cluster("h200").devices.front();
  CHECK(device.memory_bytes_per_s == doctest::Approx(4.012e12).epsilon(0.001));
  CHECK(device.memory_bytes_per_s < nominal.memory_bytes_per_s);
  CHECK(device.flops_per_s < nominal.flops_per_s);
  const TimedStep predicted =
      step_of_kernels(load_network("gpt2-medium"), timings, cluster, rates_by(timings, cluster));
  CHECK(std::abs(step_error(predicted, *timings.step)) < 0.06);
}

TEST_CASE(
    "Llama's layers and the collectives of two ranks, measured in PyTorch over gloo, predict a step and its halves") {
  const KernelTimings timings = data_timings("llama-tiny-cpu-2-ranks.json");
  const Cluster cluster = measured_cluster(timings);
  CHECK(cluster.devices.size() == 2);
  const KernelRates rates = rates_by(timings, cluster);
  CHECK(rates.collectives.size() == 4);
  const Network network = load_network("llama-tiny");
  const TimedStep predicted = step_of_kernels(network, timings, cluster, rates);
  CHECK(std::abs(step_error(predicted, *timings.step)) < 0.15);
  Parallelism halves;
  halves.precision = Precision{};
  halves.microbatch_size = timings.samples;
  halves.tensor = 2;
  const JobCosts job = job_costs(network, equal_partition(network, 1), JobMachine{cluster, 1, rates}, halves);
  const double forward_s = static_cast<double>(job.costs.times.front().f) / kNsPerSecond;
  const auto sum = std::ranges::find(rates.collectives, CollectiveOp::kAllReduce, &CollectivePoint::op);
  REQUIRE(sum != rates.collectives.end());
  constexpr int kSums = 2 * 4;  // of attention and MLP in each layer
  CHECK(forward_s > predicted.forward_s / 2 + kSums * static_cast<double>(sum->latency_ns) / kNsPerSecond);
  CHECK(forward_s < predicted.forward_s);
}

TEST_CASE("a measured product is predicted to take what it took") {
  const KernelTimings timings = data_timings("gpt-mini-cpu.json");
  const Cluster cluster = measured_cluster(timings);
  const KernelRates rates = rates_by(timings, cluster);
  for (const TimedProduct& timed : timings.products) {
    CAPTURE(timed.shape.m);
    CAPTURE(timed.shape.n);
    PassKernels pass;
    pass.product(timed.shape);
    const KernelTime time = kernel_time(pass.list.front(), cluster.devices.front(), rates);
    CHECK(time.seconds() == doctest::Approx(timed.seconds).epsilon(0.05));
  }
}

TEST_CASE("what is to be timed are the products of all three passes, attention, and kernels that move bytes") {
  const Network network = load_network("gpt-mini");
  const auto list = nlohmann::json::parse(kernel_list_json(network, Parallelism{}));
  CHECK(list["format"] == "plumbline-kernels");
  int products = 0;
  for (const auto& row : list["kernels"]) products += row["kind"] == "product" ? 1 : 0;
  CHECK(products == 15);  // queries, keys and values; output; both of the MLP; head: 5 in each pass
  CHECK(list["model"]["layers"].size() == 16);
  Parallelism four;
  four.tensor = 4;
  const auto divided = nlohmann::json::parse(kernel_list_json(network, four));
  CHECK(divided["model"].is_null());
  const auto has = [&](std::int64_t n) {
    return std::ranges::any_of(divided["kernels"], [&](const auto& row) { return row.value("n", 0) == n; });
  };
  CHECK(has(3 * 128 / 4));
  CHECK_FALSE(has(3 * 128));
}

TEST_CASE("the printed output of rccl-tests on MI300X becomes a latency and a share of the links") {
  const NcclTestRun run = nccl_test_run(data_text("rccl-mi300x-1x8.txt"), "rccl.txt");
  CHECK(run.device == "AMD Instinct MI300X");
  CHECK(run.ranks == 8);
  CHECK(run.nodes == 1);
  CHECK(run.timed.front().op == CollectiveOp::kAllReduce);
  const TimedCollective& last = run.timed.back();
  CHECK(last.bytes == 8589934592.0);
  CHECK(last.seconds == doctest::Approx(0.047584));
  const Cluster cluster = load_cluster("mi300x");
  const std::vector<CollectivePoint> points = measured_collectives(run.timed, cluster);
  REQUIRE(points.size() == 1);
  const double gb_per_s = points.front().share * cluster.intra_node.bytes_per_s * 1e-9;
  CHECK(gb_per_s == doctest::Approx(300).epsilon(0.08));  // printed: 170 at 8 MiB to 316 at 8 GiB
  CHECK(points.front().latency_ns > 10'000);
  CHECK(points.front().latency_ns < 20'000);
}

TEST_CASE("runs over several nodes want a cluster of as many, and are told apart by their hosts") {
  const NcclTestRun run = nccl_test_run(data_text("rccl-mi300x-2x8.txt"), "rccl.txt");
  CHECK(run.nodes == 2);
  CHECK(run.ranks == 16);
  CHECK(measured_collectives(run.timed, load_cluster("mi300x-2x8")).size() == 1);
  CHECK_THROWS_WITH_AS(
      measured_collectives(run.timed, load_cluster("mi300x")),
      "cluster 'mi300x': has 8 devices, 8 per node, expected a cluster with 16 on 2 nodes, as were timed", Error);
}

TEST_CASE("output that contradicts itself, or does not say which test ran, is refused with its line") {
  std::string text = data_text("rccl-mi300x-1x8.txt");
  const std::size_t bus = text.find("315.69");
  REQUIRE(bus != std::string::npos);
  std::string wrong = text;
  wrong.replace(text.find("315.91"), 6, "415.91");
  CHECK_THROWS_AS(nccl_test_run(wrong, "rccl.txt"), Error);
  CHECK_THROWS_AS(nccl_test_run(text, "rccl.txt", CollectiveOp::kAllGather), Error);
  CHECK_THROWS_AS(nccl_test_run("algbw busbw\n", "empty.txt"), Error);
}

TEST_CASE("a system file of SimuMax becomes shares of products, attention, memory and links") {
  const KernelTimings timings = simumax_timings(data_text("simumax-b200-short.json"), "simumax.json");
  const Cluster cluster = load_cluster("b200");
  const KernelRates rates = rates_by(timings, cluster);
  const ProductShape first{.m = 4096, .n = 10240, .k = 8192, .pass = ProductPass::kForward};
  // The file has 0.6452, timed for 47 ms, but 0.4867 and 0.4847 for products that were timed for longer; and one device
  // was timed, but all wait for the slowest.
  constexpr double kWaiting = 1.025;
  CHECK(rates.gemm_share(first) == doctest::Approx(0.4867 / kWaiting).epsilon(0.01));
  const ProductShape middle{.m = 4096, .n = 8192, .k = 10240, .pass = ProductPass::kInputGrad};
  CHECK(rates.gemm_share(middle) == doctest::Approx(0.498 / kWaiting).epsilon(0.01));  // as the file has it
  const ProductShape weight{.m = 10240, .n = 8192, .k = 4096, .pass = ProductPass::kWeightGrad};
  CHECK(rates.gemm_share(weight) == doctest::Approx(0.4594 / kWaiting).epsilon(0.01));  // 0.5979, timed for 51 ms
  CHECK(rates.memory_share(Movement::kLoss) == doctest::Approx(0.3246 * 8000 * 1.073741824 / 7700).epsilon(0.001));
  REQUIRE(!rates.attentions.empty());
  CHECK(rates.attentions.front().efficiency ==
        doctest::Approx(0.8351 / 2 / kWaiting).epsilon(0.001));  // the mask halves the work
  const auto eight = std::ranges::find_if(rates.collectives, [](const CollectivePoint& point) {
    return point.op == CollectiveOp::kAllReduce && point.ranks == 8;
  });
  REQUIRE(eight != rates.collectives.end());
  CHECK(eight->latency_ns == doctest::Approx(5518.3 * 7 * 2 + 22231.6).epsilon(0.001));
  CHECK(eight->share * cluster.intra_node.bytes_per_s == doctest::Approx(900 * 1.073741824e9 * 0.7424).epsilon(0.001));
}

TEST_CASE("an answer says what its rates stand on and which error to expect") {
  KernelRates rates;
  rates.device = "X1";
  CHECK(rates_text(rates) == "rates assumed: no measurement of X1 stands behind them (`plumbline device` makes one)");
  rates.basis = RatesBasis::kFitted;
  rates.fitted_rows = 12;
  rates.expected_error = 0.043;
  CHECK(rates_text(rates) == "rates fitted to 12 measured steps; expected error 4.3 %");
  rates.basis = RatesBasis::kMeasured;
  rates.expected_error = 0;
  CHECK(rates_text(rates) == "rates measured on X1; error on whole steps not known");
}

TEST_CASE("built-in tables of today's devices are read and name where their figures come from") {
  for (const char* name : {"a100", "h100", "h200", "b200", "mi300x", "mi355x"}) {
    CAPTURE(name);
    const Cluster cluster = load_cluster(name);
    const KernelRates rates = kernel_rates_of(cluster.devices.front());
    CHECK(cluster.devices.front().name.starts_with(rates.device));
    CHECK(rates.source != "efficiencies of the cluster's document");
    CHECK(rates.source.size() > 40);
  }
}

}  // namespace plumb

TEST_SUITE_END();
