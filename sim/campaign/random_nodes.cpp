#include <algorithm>
#include <cmath>
#include <queue>
#include <random>

#include "sim/campaign/node_trace.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kHourNs = 3'600'000 * kNsPerMillisecond;

/// Returns a number from 0 (included) to 1 (not).
double uniform_of(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

NodeTrace nodes_at_start(std::int32_t nodes) {
  NodeTrace trace;
  for (std::int32_t node = 0; node < nodes; ++node) {
    trace.names.push_back("node" + std::to_string(node + 1));
    trace.events.push_back({.at_ns = 0, .kind = NodeEventKind::kAdd, .node = node});
  }
  return trace;
}

void sort_by_time(NodeTrace& trace) { std::ranges::stable_sort(trace.events, {}, &NodeEvent::at_ns); }

}  // namespace

NodeTrace random_failures(const RandomFailures& failures) {
  NodeTrace trace = nodes_at_start(failures.nodes);
  std::mt19937_64 random(failures.seed);
  using Failure = std::pair<std::int64_t, std::int32_t>;
  std::priority_queue<Failure, std::vector<Failure>, std::greater<>> next;
  const auto draw = [&](std::int64_t added, std::int32_t node) {
    const double life = -std::log1p(-uniform_of(random)) * static_cast<double>(failures.mean_ns);
    const std::int64_t ms = std::llround(std::min(life, 4e18) / static_cast<double>(kNsPerMillisecond));
    if (ms > (failures.until_ns - added - failures.ready_ns) / kNsPerMillisecond) return;
    next.emplace(added + failures.ready_ns + ms * kNsPerMillisecond, node);
  };
  for (std::int32_t node = 0; node < failures.nodes; ++node) draw(0, node);
  while (!next.empty()) {
    const auto [at, node] = next.top();
    next.pop();
    trace.events.push_back({.at_ns = at, .kind = NodeEventKind::kRemove, .node = node});
    const auto other = static_cast<std::int32_t>(trace.names.size());
    trace.names.push_back("node" + std::to_string(other + 1));
    trace.events.push_back({.at_ns = at, .kind = NodeEventKind::kAdd, .node = other});
    draw(at, other);
  }
  return trace;
}

NodeTrace random_market(const RandomMarket& market) {
  NodeTrace trace = nodes_at_start(market.nodes);
  std::mt19937_64 random(market.seed);
  std::vector<std::int32_t> present;
  for (std::int32_t node = 0; node < market.nodes; ++node) present.push_back(node);
  const auto second = [&] { return static_cast<std::int64_t>(uniform_of(random) * 3600) * 1000 * kNsPerMillisecond; };
  for (std::int64_t hour = 0; hour < market.until_ns; hour += kHourNs) {
    std::vector<std::int32_t> kept;
    for (const std::int32_t node : present) {
      if (uniform_of(random) >= market.taken) {
        kept.push_back(node);
      } else {
        trace.events.push_back({.at_ns = hour + second(), .kind = NodeEventKind::kRemove, .node = node});
      }
    }
    const std::size_t missing = static_cast<std::size_t>(market.nodes) - present.size();
    for (std::size_t place = 0; place < missing; ++place) {
      if (uniform_of(random) >= market.given) continue;
      const auto node = static_cast<std::int32_t>(trace.names.size());
      trace.names.push_back("node" + std::to_string(node + 1));
      trace.events.push_back({.at_ns = hour + second(), .kind = NodeEventKind::kAdd, .node = node});
      kept.push_back(node);
    }
    present = std::move(kept);
  }
  sort_by_time(trace);
  return trace;
}

}  // namespace plumb
