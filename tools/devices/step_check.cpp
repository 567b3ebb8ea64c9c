#include "tools/devices/step_check.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "models/jobs/job_costs.hpp"
#include "models/stages/partition.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

/// Shares of the shapes of one kind.
struct Shares {
  int count = 0;
  double least = 1e9;
  double most = 0;
  double logs = 0;

  void add(double share) {
    ++count;
    least = std::min(least, share);
    most = std::max(most, share);
    logs += std::log(share);
  }
};

double seconds_of(Ticks nanoseconds) { return static_cast<double>(nanoseconds) / kNsPerSecond; }

}  // namespace

TimedStep step_of_kernels(const Network& network, const KernelTimings& timings, const Cluster& cluster,
                          const KernelRates& rates) {
  Parallelism one;
  one.microbatch_size = timings.samples;
  one.sequence = timings.sequence;
  one.dropout = false;
  if (timings.number_bytes == 4) one.precision = Precision{};
  const JobMachine machine{cluster, 1, rates};
  const JobCosts job = job_costs(network, equal_partition(network, 1), machine, one);
  const StageTimes& times = job.costs.times.front();
  TimedStep step{seconds_of(times.f), seconds_of(times.b), seconds_of(times.u), 0};
  step.step_s = step.forward_s + step.backward_s + step.update_s;
  return step;
}

std::string timings_text(const KernelTimings& timings, const Cluster& cluster, const KernelRates& rates) {
  std::map<std::pair<std::string, std::size_t>, Shares> shares;
  for (const GemmPoint& point : rates.gemms) {
    shares[{"products", static_cast<std::size_t>(point.shape.pass)}].add(point.efficiency);
  }
  for (const AttentionPoint& point : rates.attentions) {
    shares[{"attention", static_cast<std::size_t>(point.shape.pass)}].add(point.efficiency);
  }
  TextTable table({{"kernels"}, {"shapes", '>'}, {"share of the peak", '>'}, {"least", '>'}, {"most", '>'}});
  for (const auto& [key, one] : shares) {
    table.add_row({key.first + ", " + std::string(kProductPassNames[key.second]), std::to_string(one.count),
                   share_text(std::exp(one.logs / one.count)), share_text(one.least), share_text(one.most)});
  }
  std::array<int, kMovementCount> timed{};
  for (const TimedMovement& movement : timings.movements) ++timed[static_cast<std::size_t>(movement.movement)];
  for (std::size_t kind = 0; kind < kMovementCount; ++kind) {
    if (timed[kind] == 0) continue;
    table.add_row({std::string(kMovementNames[kind]), std::to_string(timed[kind]),
                   share_text(rates.memory_shares[kind]), "", ""});
  }
  const DeviceSpec& device = cluster.devices.front();
  std::string text = "device  " + device.name + ": peaks " + number_text(device.flops_per_s / 1e12) + " TFLOP/s and " +
                     number_text(device.memory_bytes_per_s / 1e9) + " GB/s\n\n" + table.to_string();
  for (const CollectivePoint& point : rates.collectives) {
    constexpr std::array<const char*, 5> kNames{"all-reduce", "all-gather", "reduce-scatter", "all-to-all",
                                                "broadcast"};
    text += std::string(kNames[static_cast<std::size_t>(point.op)]) + " of " + std::to_string(point.ranks) + " on " +
            std::to_string(point.nodes) + (point.nodes == 1 ? " node: " : " nodes: ") + share_text(point.share) +
            " of the links, " + time_text(point.latency_ns) + " latency\n";
  }
  return text;
}

std::string step_check_text(const TimedStep& predicted, const TimedStep& measured) {
  TextTable table({{"training step"}, {"measured", '>'}, {"predicted", '>'}, {"error", '>'}});
  const auto add = [&](const char* name, double TimedStep::*part) {
    const double error = predicted.*part / measured.*part - 1;
    const auto ns = [](double seconds) { return static_cast<std::int64_t>(std::llround(seconds * kNsPerSecond)); };
    table.add_row({name, time_text(ns(measured.*part)), time_text(ns(predicted.*part)),
                   (error > 0 ? "+" : "") + fixed_text(100 * error, 1) + " %"});
  };
  add("forward", &TimedStep::forward_s);
  add("backward", &TimedStep::backward_s);
  add("update", &TimedStep::update_s);
  add("whole step", &TimedStep::step_s);
  return table.to_string();
}

}  // namespace plumb
