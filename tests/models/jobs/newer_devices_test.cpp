#include <algorithm>

#include <doctest/doctest.h>

#include "models/cluster/cluster_io.hpp"
#include "models/import/load_network.hpp"
#include "models/jobs/job_costs.hpp"
#include "models/kernels/kernel_rates_io.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {
namespace {

/// Seconds of F and B of the slowest of eight stages on one node.
double slowest_stage_s(const Network& network, const char* cluster_name, const Parallelism& job) {
  const Cluster cluster = load_cluster(cluster_name);
  const auto places = static_cast<std::int32_t>(8 / job.tensor);
  const JobCosts costs = job_costs(network, equal_partition(network, places), {cluster, places}, job);
  Ticks slowest = 0;
  for (const StageTimes& stage : costs.costs.times) slowest = std::max(slowest, stage.f + stage.b);
  return static_cast<double>(slowest) * 1e-9;
}

}  // namespace

TEST_CASE("a newer GPU is never slower than an older one on the same job") {
  for (const char* name : {"gpt2-small", "gpt2-large", "gpt3-13b", "llama3-8b", "llama3-70b", "mixtral-8x7b"}) {
    CAPTURE(name);
    const Network network = load_network(name);
    for (const std::int64_t tensor : {1, 2, 4}) {
      CAPTURE(tensor);
      const Parallelism job{.tensor = tensor, .sequence_parallel = tensor > 1, .microbatch_size = 1};
      const double a100 = slowest_stage_s(network, "a100", job);
      const double h100 = slowest_stage_s(network, "h100", job);
      const double h200 = slowest_stage_s(network, "h200", job);
      const double b200 = slowest_stage_s(network, "b200", job);
      CHECK(h100 < a100);
      CHECK(h200 <= h100);
      CHECK(b200 <= h200);
      // B200 has a table of shapes, and B300 only the smooth model that was fitted to it.
      CHECK(slowest_stage_s(network, "b300", job) <= 1.05 * b200);
      const double gb200 = slowest_stage_s(network, "gb200", job);
      CHECK(gb200 <= b200);
      CHECK(slowest_stage_s(network, "gb300", job) <= gb200);
    }
  }
}

TEST_CASE("small stages are bounded by the launches of their kernels, not by a constant of the pass") {
  const Network network = load_network("gpt2-small");
  const Cluster cluster = load_cluster("b200");
  const JobCosts job = job_costs(network, equal_partition(network, 8), {cluster, 8}, {.microbatch_size = 1});
  const KernelRates rates = kernel_rates_of(cluster.devices.front());
  constexpr std::int64_t kMostLaunches = 200;  // of the passes of two layers
  CHECK(job.costs.times[3].f < kMostLaunches * (rates.host_ns + rates.kernel_ns));
}

}  // namespace plumb

TEST_SUITE_END();
