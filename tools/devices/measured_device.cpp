#include "tools/devices/measured_device.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>

#include "models/ground/error.hpp"
#include "models/ground/units.hpp"

namespace plumb {
namespace {

constexpr double kLeastShare = 1e-3;

double flops_of(const ProductShape& shape) {
  return 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k) *
         static_cast<double>(shape.count);
}

/// Returns the share of a rate, within the limits of rates.
double share_of(double rate, double peak) { return std::clamp(rate / peak, kLeastShare, 1.0); }

/// A geometric mean in the making.
class Mean {
 public:
  void add(double value) {
    sum_ += std::log(value);
    ++count_;
  }
  std::optional<double> value() const { return count_ > 0 ? std::optional(std::exp(sum_ / count_)) : std::nullopt; }

 private:
  double sum_ = 0;
  int count_ = 0;
};

double work_seconds(double seconds, double kernel_s, double launches = 1) {
  return std::max(seconds - launches * kernel_s, 0.1 * seconds);
}

double busiest_link(const TimedCollective& row) {
  const auto ranks = static_cast<double>(row.ranks);
  const double passes = (row.op == CollectiveOp::kAllReduce ? 2 : 1) * (ranks - 1) / ranks;
  return passes * row.bytes / row.seconds;
}

void set_products(const KernelTimings& timings, double flops_per_s, KernelRates& rates) {
  rates.gemms.clear();
  rates.gemm_half_k = 0;
  rates.gemm_by_pass.fill(1);
  constexpr std::int64_t kLeastOfGpu = 16;
  const bool on_cpu = timings.multiprocessors > 0 && timings.multiprocessors < kLeastOfGpu;
  if (on_cpu) rates.tile_m = rates.tile_n = 1;  // neither tiles nor waves
  if (timings.multiprocessors > 0) rates.multiprocessors = on_cpu ? 1 : timings.multiprocessors;
  rates.gemm_efficiency = 1;
  std::array<Mean, kProductPassCount> passes;
  std::vector<GemmPoint> points;
  for (const TimedProduct& timed : timings.products) {
    const double rate = flops_of(timed.shape) / work_seconds(timed.seconds, timings.kernel_s);
    points.push_back({timed.shape, share_of(rate, flops_per_s)});
    // What tiles and waves leave of it is the model's affair: the mean is over what they do not explain.
    const double shape_share = rates.gemm_share(timed.shape);
    passes[static_cast<std::size_t>(timed.shape.pass)].add(points.back().efficiency / shape_share);
  }
  if (points.empty()) return;
  const double forward = passes[0].value().value_or(0.5);
  rates.gemm_efficiency = std::min(1.0, forward);
  for (std::size_t k = 1; k < kProductPassCount; ++k) {
    rates.gemm_by_pass[k] = std::clamp(passes[k].value().value_or(forward) / forward, kLeastShare, 2.0);
  }
  rates.gemms = std::move(points);
}

void set_attention(const KernelTimings& timings, double flops_per_s, KernelRates& rates) {
  if (timings.attentions.empty()) return;
  rates.attentions.clear();
  rates.attention_half_rows = 0;
  Mean forward;
  Mean backward;
  for (const TimedAttention& timed : timings.attentions) {
    const double rate = timed.flops / work_seconds(timed.seconds, timings.kernel_s);
    rates.attentions.push_back({timed.shape, share_of(rate, flops_per_s)});
    (timed.shape.pass == ProductPass::kForward ? forward : backward).add(rates.attentions.back().efficiency);
  }
  rates.attention_forward = forward.value().value_or(rates.attention_forward);
  rates.attention_backward = backward.value().value_or(rates.attention_backward);
}

void set_movements(const KernelTimings& timings, double bytes_per_s, KernelRates& rates) {
  std::array<double, kMovementCount> bytes{};
  std::array<double, kMovementCount> seconds{};
  for (const TimedMovement& timed : timings.movements) {
    const auto kind = static_cast<std::size_t>(timed.movement);
    bytes[kind] += timed.bytes;
    seconds[kind] += work_seconds(timed.seconds, timings.kernel_s, static_cast<double>(timed.launches));
  }
  if (timings.copied_per_s > 0) rates.set_memory_shares(share_of(timings.copied_per_s, bytes_per_s));
  for (std::size_t kind = 0; kind < kMovementCount; ++kind) {
    if (seconds[kind] > 0) rates.memory_shares[kind] = share_of(bytes[kind] / seconds[kind], bytes_per_s);
  }
}

/// A line a + b x through points, by least squares of relative errors, with a >= 0 and b > 0.
struct RelativeLine {
  double a = 0;
  double b = 0;
};

RelativeLine relative_line(std::span<const double> x, std::span<const double> y) {
  double s11 = 0;
  double s1x = 0;
  double sxx = 0;
  double s1 = 0;
  double sx = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double one = 1 / y[k];
    const double slope = x[k] / y[k];
    s11 += one * one;
    s1x += one * slope;
    sxx += slope * slope;
    s1 += one;
    sx += slope;
  }
  const double determinant = s11 * sxx - s1x * s1x;
  if (determinant > 1e-12 * s11 * sxx) {
    const RelativeLine line{(s1 * sxx - sx * s1x) / determinant, (sx * s11 - s1 * s1x) / determinant};
    if (line.a >= 0 && line.b > 0) return line;
  }
  return {0, sx / sxx};
}

std::string device_title(const std::string& name) { return name.empty() ? "measured device" : name; }

}  // namespace

Cluster measured_cluster(const KernelTimings& timings) {
  if (timings.products.empty()) throw Error("device '" + timings.device + "': no product was timed, expected some");
  DeviceSpec device;
  device.name = device_title(timings.device);
  device.memory_bytes = timings.memory_bytes;
  for (const TimedProduct& timed : timings.products) {
    device.flops_per_s = std::max(device.flops_per_s, flops_of(timed.shape) / timed.seconds);
  }
  // Bytes of a copy are certain. Those of other kernels are counted as jobs move them, and a library may move fewer: on
  // an H200 PyTorch's cross-entropy seemed to reach 5.8 TB/s of a memory of 4.8.
  device.memory_bytes_per_s = timings.copied_per_s;
  for (const TimedMovement& timed : timings.movements) {
    if (timings.copied_per_s > 0) break;
    device.memory_bytes_per_s = std::max(device.memory_bytes_per_s, timed.bytes / timed.seconds);
  }
  if (device.memory_bytes_per_s <= 0)
    throw Error("device '" + timings.device + "': nothing that moves bytes was timed, expected a copy");
  Cluster cluster;
  cluster.name = device.name;
  cluster.source = timings.source + "; peaks are the best rates that were seen";
  std::int64_t ranks = 1;
  for (const TimedCollective& row : timings.collectives) {
    if (row.nodes > 1) {
      throw Error("device '" + timings.device + "': collectives were timed over " + std::to_string(row.nodes) +
                  " nodes, expected the cluster whose links these are");
    }
    ranks = std::max(ranks, row.ranks);
    cluster.intra_node.bytes_per_s = std::max(cluster.intra_node.bytes_per_s, busiest_link(row));
  }
  if (ranks == 1) cluster.intra_node.bytes_per_s = device.memory_bytes_per_s / 2;
  cluster.devices.assign(static_cast<std::size_t>(ranks), device);
  cluster.devices_per_node = static_cast<std::int32_t>(ranks);
  cluster.finish();
  return cluster;
}

KernelRates measured_rates(const KernelTimings& timings, const Cluster& cluster, KernelRates base) {
  const DeviceSpec& device = cluster.devices.front();
  KernelRates rates = std::move(base);
  rates.device = device.name;
  if (timings.products.empty()) {
    rates.source += "; " + timings.source;  // what the rest stands on remains
  } else {
    rates.source = timings.source + (timings.network.empty() ? "" : ", kernels of " + timings.network);
    rates.basis = RatesBasis::kMeasured;
    rates.fitted_rows = 0;
    rates.expected_error = 0;
  }
  if (timings.kernel_s > 0) {
    rates.kernel_ns = std::llround(timings.kernel_s * kNsPerSecond);
    rates.host_ns = std::llround(timings.host_s * kNsPerSecond);
  }
  set_products(timings, device.flops_per_s, rates);
  set_attention(timings, device.flops_per_s, rates);
  set_movements(timings, device.memory_bytes_per_s, rates);
  if (!timings.collectives.empty()) rates.collectives = measured_collectives(timings.collectives, cluster);
  return rates;
}

std::vector<CollectivePoint> measured_collectives(const std::vector<TimedCollective>& timed, const Cluster& cluster) {
  std::map<std::tuple<CollectiveOp, std::int64_t, std::int64_t>, std::vector<TimedCollective>> groups;
  for (const TimedCollective& row : timed) groups[{row.op, row.ranks, row.nodes}].push_back(row);
  std::vector<CollectivePoint> points;
  for (const auto& [key, rows] : groups) {
    const auto [op, ranks, nodes] = key;
    if (ranks > static_cast<std::int64_t>(cluster.devices.size()) ||
        (ranks + cluster.devices_per_node - 1) / cluster.devices_per_node != nodes) {
      throw Error("cluster '" + cluster.name + "': has " + std::to_string(cluster.devices.size()) + " devices, " +
                  std::to_string(cluster.devices_per_node) + " per node, expected a cluster with " +
                  std::to_string(ranks) + " on " + std::to_string(nodes) + (nodes == 1 ? " node" : " nodes") +
                  ", as were timed");
    }
    DeviceGroup group = device_group(cluster, ranks, 1);
    group.inside.latency_s = group.between.latency_s = 0;
    std::vector<double> ideal;
    std::vector<double> seconds;
    for (const TimedCollective& row : rows) {
      ideal.push_back(collective_seconds(op, group, row.bytes));
      seconds.push_back(row.seconds);
    }
    if (rows.size() < 2) continue;
    const RelativeLine line = relative_line(ideal, seconds);
    points.push_back({.op = op,
                      .ranks = ranks,
                      .nodes = nodes,
                      .share = std::clamp(1 / line.b, kLeastShare, 10.0),
                      .latency_ns = std::llround(line.a * kNsPerSecond)});
  }
  return points;
}

}  // namespace plumb
