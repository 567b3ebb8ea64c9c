#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "models/stages/network_costs.hpp"
#include "schedules/lowering/lower.hpp"
#include "sim/simulate.hpp"
#include "trainer/train.hpp"

namespace plumb {

/// Devices whose links cost nothing: what the trainer assumes when it is given no cluster.
inline Cluster free_cluster(std::int32_t devices) {
  Cluster cluster;
  cluster.devices.resize(static_cast<std::size_t>(devices));
  cluster.devices_per_node = devices;
  cluster.finish();
  return cluster;
}

/// What the simulator says about the same run.
inline Timeline predicted(const TrainOptions& options) {
  const Precision precision = precision_of(options.model.numbers, options.optimization.optimizer);
  StageCosts costs = untimed_costs(options.model.network, options.model.partition, options.model.shape, precision);
  for (StageTimes& times : costs.times) times = {.f = 3, .b = 5, .i = 3, .w = 2, .u = 1};
  const Cluster cluster = free_cluster(options.schedule.num_devices);
  return simulate(lower(options.schedule, costs, &cluster, options.execution.lowering));
}

inline void check_same_memory(const Timeline& measured, const Timeline& expected) {
  REQUIRE(measured.devices.size() == expected.devices.size());
  for (std::size_t device = 0; device < expected.devices.size(); ++device) {
    CAPTURE(device);
    CHECK(measured.devices[device].peak_memory_bytes == expected.devices[device].peak_memory_bytes);
    CHECK(measured.devices[device].peak_memory_by_class == expected.devices[device].peak_memory_by_class);
    CHECK(measured.devices[device].peak_activations == expected.devices[device].peak_activations);
  }
}

inline double largest_difference(const NamedValues& a, const NamedValues& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (const auto& [name, values] : a) {
    const std::vector<double>& others = b.at(name);
    REQUIRE(values.size() == others.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double difference = std::abs(values[i] - others[i]);
      largest = std::isnan(difference) ? 1e300 : std::max(largest, difference);
    }
  }
  return largest;
}

}  // namespace plumb
