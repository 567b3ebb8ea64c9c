#include "sim/shared_devices/free_devices.hpp"

#include <algorithm>
#include <utility>

namespace plumb {
namespace {

/// Returns the end of the devices that are free at `start`, which come first in `node`.
template <class Node>
auto end_of_free(Node& node, std::int64_t start) {
  return std::ranges::upper_bound(node, start, {}, [](const auto& free) { return free.at; });
}

}  // namespace

FreeDevices::FreeDevices(std::int64_t nodes, std::int64_t per_node) : free_(static_cast<std::size_t>(nodes)) {
  std::int32_t device = 0;
  for (Node& node : free_) {
    for (std::int64_t k = 0; k < per_node; ++k) node.push_back({.at = 0, .device = device++});
  }
}

std::size_t FreeDevices::nodes_of(const JobChoice& choice) const {
  return static_cast<std::size_t>(choice.devices) / free_[0].size();
}

std::vector<std::pair<std::int64_t, std::size_t>> FreeDevices::whole_nodes() const {
  std::vector<std::pair<std::int64_t, std::size_t>> whole;
  for (std::size_t node = 0; node < free_.size(); ++node) whole.emplace_back(free_[node].back().at, node);
  std::ranges::sort(whole);
  return whole;
}

std::int64_t FreeDevices::earliest(const JobChoice& choice, std::size_t node, std::int64_t from) const {
  if (is_wide(choice)) return std::max(from, whole_nodes()[nodes_of(choice) - 1].first);
  return std::max(from, free_[node][static_cast<std::size_t>(choice.devices) - 1].at);
}

std::int64_t FreeDevices::earliest(const JobChoice& choice, std::int64_t from) const {
  std::int64_t first = earliest(choice, 0, from);
  if (is_wide(choice)) return first;
  for (std::size_t node = 1; node < free_.size(); ++node) first = std::min(first, earliest(choice, node, from));
  return first;
}

std::int64_t FreeDevices::wait(const JobChoice& choice, std::size_t node, std::int64_t start) const {
  const auto end = end_of_free(free_[node], start);
  std::int64_t waited = 0;
  for (auto free = end - choice.devices; free != end; ++free) waited += start - free->at;
  return waited;
}

std::size_t FreeDevices::best_node(const JobChoice& choice, std::int64_t from) const {
  if (is_wide(choice)) return 0;
  std::size_t best = 0;
  std::pair<std::int64_t, std::int64_t> least{};
  for (std::size_t node = 0; node < free_.size(); ++node) {
    const std::int64_t start = earliest(choice, node, from);
    if (node > 0 && start > least.first) continue;
    const std::pair<std::int64_t, std::int64_t> found{start, wait(choice, node, start)};
    if (node > 0 && found >= least) continue;
    best = node;
    least = found;
  }
  return best;
}

JobPlace FreeDevices::place(const JobChoice& choice, std::size_t node, std::int64_t from) {
  JobPlace placed{.choice = choice, .start_ns = earliest(choice, node, from), .end_ns = 0, .devices = {}};
  placed.end_ns = placed.start_ns + choice.time_ns;
  const auto take = [&](FreeDevice& free) {
    free.at = placed.end_ns;
    placed.devices.push_back(free.device);
  };
  if (is_wide(choice)) {
    auto whole = whole_nodes();
    const auto end = std::ranges::upper_bound(whole, placed.start_ns, {}, [](const auto& one) { return one.first; });
    for (auto one = end - static_cast<std::ptrdiff_t>(nodes_of(choice)); one != end; ++one) {
      std::ranges::for_each(free_[one->second], take);
    }
  } else {
    Node& on = free_[node];
    const auto end = end_of_free(on, placed.start_ns);
    std::for_each(end - choice.devices, end, take);
    std::ranges::stable_sort(on, {}, &FreeDevice::at);
  }
  std::ranges::sort(placed.devices);
  return placed;
}

void FreeDevices::raise_to(std::int64_t time) {
  for (Node& node : free_) {
    for (FreeDevice& free : node) free.at = std::max(free.at, time);
  }
}

std::vector<std::int64_t> FreeDevices::signature() const {
  std::vector<std::vector<std::int64_t>> times;
  for (const Node& node : free_) {
    std::vector<std::int64_t>& of_node = times.emplace_back();
    for (const FreeDevice& free : node) of_node.push_back(free.at);
  }
  std::ranges::sort(times);
  std::vector<std::int64_t> all;
  for (const std::vector<std::int64_t>& of_node : times) all.insert(all.end(), of_node.begin(), of_node.end());
  return all;
}

bool FreeDevices::alike(std::size_t one, std::size_t other) const {
  return std::ranges::equal(free_[one], free_[other], {}, &FreeDevice::at, &FreeDevice::at);
}

std::int64_t FreeDevices::last() const {
  std::int64_t last = 0;
  for (const Node& node : free_) last = std::max(last, node.back().at);
  return last;
}

}  // namespace plumb
