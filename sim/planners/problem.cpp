#include "sim/planners/problem.hpp"

#include <algorithm>
#include <charconv>

#include "models/ground/error.hpp"

namespace plumb {

void StopSign::check() const {
  if (asked && asked()) throw Error("plan: stopped before the planner had an answer");
}

std::int32_t PlanProblem::num_devices() const {
  std::int32_t product = 1;
  for (const MachineLevel& level : levels) product *= level.count;
  return product;
}

double PlanProblem::speed_of(std::int32_t device) const {
  return speed.empty() ? 1.0 : speed[static_cast<std::size_t>(device)];
}

std::int64_t PlanProblem::memory_of(std::int32_t device) const {
  return memory_by_device.empty() ? memory_bytes : memory_by_device[static_cast<std::size_t>(device)];
}

double PlanProblem::bytes_per_s_between(std::int32_t devices) const {
  std::int32_t inside = 1;
  for (const MachineLevel& level : levels) {
    inside *= level.count;
    if (devices <= inside) return level.bytes_per_s;
  }
  return levels.back().bytes_per_s;
}

std::vector<std::int64_t> PlanProblem::number_of_each(std::string_view option, std::int64_t otherwise,
                                                      std::int64_t most) const {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(num_devices()), otherwise);
  const auto given = options.find(std::string(option));
  if (given == options.end()) return numbers;
  std::string_view text = given->second;
  for (std::size_t device = 0; device < numbers.size(); ++device) {
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), numbers[device]);
    const auto read = static_cast<std::size_t>(end - text.data());
    const bool ends = read == text.size();
    const bool is_last = device + 1 == numbers.size();
    if (failed != std::errc{} || numbers[device] < 1 || numbers[device] > most || ends != is_last ||
        (!ends && text[read] != '-')) {
      throw Error("option " + std::string(option) + ": expected a whole number from 1 to " + std::to_string(most) +
                  " for each of the " + std::to_string(numbers.size()) + " devices, such as 8-8-16, found '" +
                  given->second + "'");
    }
    text.remove_prefix(std::min(text.size(), read + 1));
  }
  return numbers;
}

std::vector<MachineLevel> levels_of(const Cluster& cluster) {
  const auto devices = static_cast<std::int32_t>(cluster.devices.size());
  const std::int32_t nodes = devices / cluster.devices_per_node;
  std::vector<MachineLevel> levels;
  if (cluster.devices_per_node > 1 || nodes == 1) {
    levels.push_back({cluster.devices_per_node, cluster.intra_node.bytes_per_s});
  }
  if (nodes > 1) levels.push_back({nodes, cluster.inter_node.bytes_per_s});
  return levels;
}

void check_problem(const PlanProblem& problem) {
  const std::string where = "network '" + problem.network.layers.name + "'";
  if (problem.network.layers.nodes.empty()) throw Error(where + ": has no layers, expected at least one");
  if (problem.levels.empty()) throw Error("plan: expected devices");
  for (const MachineLevel& level : problem.levels) {
    if (level.count < 1) throw Error("plan: expected at least one device on every level");
    if (level.count > 1 && !(level.bytes_per_s > 0)) {
      throw Error("plan: expected a bandwidth above 0 between " + std::to_string(level.count) + " devices");
    }
  }
  if (!problem.speed.empty() && problem.speed.size() != static_cast<std::size_t>(problem.num_devices())) {
    throw Error("plan: expected a speed for each of " + std::to_string(problem.num_devices()) + " devices, found " +
                std::to_string(problem.speed.size()));
  }
  if (problem.microbatches < 1) throw Error("plan: expected at least one microbatch");
}

}  // namespace plumb
