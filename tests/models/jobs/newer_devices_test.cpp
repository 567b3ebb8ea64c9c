#include <algorithm>
#include <array>
#include <string>

#include <doctest/doctest.h>

#include "models/cluster/cluster_io.hpp"
#include "models/import/load_network.hpp"
#include "models/jobs/job_costs.hpp"
#include "models/kernels/kernel_rates_io.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {
namespace {

/// Seconds of F, B and U of the slowest of eight devices on one node, or of a pipeline over them.
double slowest_stage_s(const Network& network, const std::string& cluster_name, const Parallelism& job) {
  const Cluster cluster = load_cluster(cluster_name);
  const auto places = static_cast<std::int32_t>(8 / job.devices_per_stage());
  const JobCosts costs = job_costs(network, equal_partition(network, places), {cluster, places}, job);
  Ticks slowest = 0;
  for (const StageTimes& stage : costs.costs.times) slowest = std::max(slowest, stage.f + stage.b + stage.u);
  return static_cast<double>(slowest) * 1e-9;
}

/// Each after those that it follows, in the same kind of machine or in one of the next generation.
constexpr std::array<std::array<const char*, 2>, 8> kNewer{{{"a100", "h100"},
                                                            {"h100", "h200"},
                                                            {"h200", "b200"},
                                                            {"b200", "b300"},
                                                            {"h200", "gb200"},
                                                            {"b200", "gb200"},
                                                            {"gb200", "gb300"},
                                                            {"mi300x", "mi355x"}}};

}  // namespace

TEST_CASE("a newer GPU is never slower than an older one on the same job") {
  for (const char* name : {"gpt2-small", "gpt2-large", "gpt3-13b", "gpt3-175b", "llama3-8b", "llama3-70b", "qwen3-8b",
                           "mixtral-8x7b", "qwen3-30b-a3b", "nemotron-3-nano", "zb-6.2b"}) {
    CAPTURE(std::string(name));
    Network network = load_network(name);
    const bool any_length = network.layers.front().positions == 0;
    for (const std::int64_t sequence : {network.sequence, any_length ? 32768 : network.sequence}) {
      CAPTURE(sequence);
      network.sequence = sequence;
      for (const std::int64_t tensor : {1, 2, 4}) {
        CAPTURE(tensor);
        Parallelism job{.tensor = tensor, .sequence_parallel = tensor > 1, .microbatch_size = 1};
        for (const std::int64_t data : {1, 2}) {
          CAPTURE(data);
          job.data = data;
          for (const auto& [older, newer] : kNewer) {
            CAPTURE(std::string(older));
            CAPTURE(std::string(newer));
            CHECK(slowest_stage_s(network, newer, job) <= slowest_stage_s(network, older, job));
          }
        }
      }
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
