#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>

#include "models/cluster/cluster.hpp"
#include "models/network/network.hpp"
#include "sim/plan_search/plan_job.hpp"
#include "sim/plan_search/prices/job_pricing.hpp"
#include "tests/support/profiled_network.hpp"

namespace plumb::testing {

inline std::int64_t drawn_between(std::mt19937& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

/// A chain of measured layers that differ in everything.
inline Network drawn_network(std::mt19937& random, std::size_t layers) {
  return profiled_network("random", layers, [&](std::size_t) {
    return ProfiledFigures{.f_ns = drawn_between(random, 100, 2000),
                           .i_ns = drawn_between(random, 100, 2000),
                           .w_ns = drawn_between(random, 0, 2000),
                           .parameter_bytes = drawn_between(random, 1, 50) * 4000,
                           .output_bytes = drawn_between(random, 1, 50) * 1000,
                           .kept_for_input_grad_bytes = drawn_between(random, 0, 20) * 1000,
                           .kept_for_weight_grad_bytes = drawn_between(random, 0, 20) * 1000};
  });
}

inline PlanJob profiled_job(const Network& network, const Cluster& cluster, std::int64_t batch) {
  return {.num_layers = network.layers.size(),
          .num_devices = static_cast<std::int64_t>(cluster.devices.size()),
          .batch = batch,
          .price = job_pricing(network, cluster, std::nullopt, {})};
}

}  // namespace plumb::testing
