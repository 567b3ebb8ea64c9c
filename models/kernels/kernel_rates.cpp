#include "models/kernels/kernel_rates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/units.hpp"

namespace plumb {
namespace {

constexpr double kSmallestShare = 1e-6;
constexpr double kStoredBytes = 2;
/// What a product keeps of its rate where the rows of an operand begin at odd numbers of 16 bits: tiles are copied to
/// the multiprocessors asynchronously in 4, 8 or 16 bytes (`cp.async` of the PTX ISA), so such rows go through
/// registers number by number. About a third is an assumption, not a measurement: nanoGPT's author is remembered to
/// have told of steps that took a quarter less with 50304 instead of 50257 words (no source was found again), which its
/// head's two backward products, about an eighth of a step, can only lose by taking three times as long.
constexpr double kOddRowsShare = 0.32;

double share_of_peak(double share) { return std::clamp(share, kSmallestShare, 1.0); }

/// Returns the share of work that full tiles and full waves do.
double quantised(const KernelRates& rates, const ProductShape& shape) {
  const auto rows = static_cast<double>((shape.m + rates.tile_m - 1) / rates.tile_m);
  const auto columns = static_cast<double>((shape.n + rates.tile_n - 1) / rates.tile_n);
  const double filled = static_cast<double>(shape.m) * static_cast<double>(shape.n) /
                        (rows * static_cast<double>(rates.tile_m) * columns * static_cast<double>(rates.tile_n));
  if (rates.multiprocessors == 1) return filled;
  const double waves = rows * columns * static_cast<double>(shape.count) / static_cast<double>(rates.multiprocessors);
  return filled * waves / std::ceil(waves);
}

double modelled(const KernelRates& rates, const ProductShape& shape) {
  const double adding = shape.accumulated > 0 ? 2 * static_cast<double>(shape.accumulated) - kStoredBytes : 0;
  const auto k = static_cast<double>(shape.k);
  const double depth = k / (k + rates.gemm_half_k + rates.gemm_accumulate_k * adding);
  const double pass = rates.gemm_by_pass[static_cast<std::size_t>(shape.pass)];
  return share_of_peak(rates.gemm_efficiency * pass * quantised(rates, shape) * depth);
}

double modelled(const KernelRates& rates, const AttentionShape& shape) {
  const double most = shape.pass == ProductPass::kForward ? rates.attention_forward : rates.attention_backward;
  const double rows = static_cast<double>(shape.heads) * static_cast<double>(shape.rows);
  return share_of_peak(most * rows / (rows + rates.attention_half_rows));
}

/// Returns whether a measured shape says something about another one.
bool comparable(const ProductShape& a, const ProductShape& b) {
  return a.pass == b.pass && a.format == b.format && (a.count > 1) == (b.count > 1);
}
bool comparable(const AttentionShape& a, const AttentionShape& b) { return a.pass == b.pass; }

template <class Point, class Shape>
double corrected(const KernelRates& rates, const std::vector<Point>& points, const Shape& shape) {
  const double share = modelled(rates, shape);
  std::vector<Deviation> deviations;
  for (const Point& point : points) {
    if (!comparable(point.shape, shape)) continue;
    deviations.push_back(
        {doublings_apart(point.shape, shape), std::log(point.efficiency / modelled(rates, point.shape))});
  }
  return share_of_peak(share * table_factor(deviations));
}

double doublings(std::int64_t a, std::int64_t b) {
  return std::abs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
}

/// Returns the measured group of the same kind, inside a node or beyond it, whose size is nearest.
const CollectivePoint* nearest_group(const KernelRates& rates, CollectiveOp op, const DeviceGroup& group) {
  const CollectivePoint* nearest = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const CollectivePoint& point : rates.collectives) {
    if (point.op != op || (point.nodes > 1) != (group.nodes > 1)) continue;
    const double distance = doublings(point.ranks, group.size()) + doublings(point.nodes, group.nodes);
    if (distance < least) {
      least = distance;
      nearest = &point;
    }
  }
  return nearest;
}

}  // namespace

double KernelRates::gemm_share(const ProductShape& shape) const {
  return corrected(*this, gemms, shape) * (shape.odd_rows ? kOddRowsShare : 1);
}

double KernelRates::attention_share(const AttentionShape& shape) const { return corrected(*this, attentions, shape); }

double KernelRates::collective_s(CollectiveOp op, const DeviceGroup& group, double bytes) const {
  if (group.size() < 2 || bytes == 0) return 0;
  DeviceGroup reached = group;
  if (const CollectivePoint* point = nearest_group(*this, op, group)) {
    reached.inside = {0, group.inside.bytes_per_s * point->share};
    reached.between = {0, group.between.bytes_per_s * point->share};
    return static_cast<double>(point->latency_ns) / kNsPerSecond + collective_seconds(op, reached, bytes);
  }
  reached.inside.bytes_per_s *= inside_share;
  reached.between.bytes_per_s *= between_share;
  reached.switch_reduces = switch_reduces;
  return static_cast<double>(collective_ns) / kNsPerSecond + collective_seconds(op, reached, bytes);
}

bool KernelRates::has_format(MatrixFormat format) const {
  return format == MatrixFormat::kBf16 || !says_formats || peak(format) > peak(MatrixFormat::kBf16);
}

KernelRates at_power(KernelRates rates, double watts) {
  constexpr double kPowerLaw = 0.87;
  if (rates.watts == 0) {
    throw Error("power: it is not known how the rates of '" + rates.device + "' follow its power, expected a device " +
                "whose document says 'watts'");
  }
  if (!(watts >= rates.watts / 4 && watts <= 2 * rates.watts)) {
    throw Error("power: expected a quarter to twice the " + std::to_string(std::llround(rates.watts)) +
                " W at which the rates of '" + rates.device + "' hold");
  }
  const double factor = std::pow(watts / rates.watts, kPowerLaw);
  const auto scale = [&](double& share) { share = std::clamp(share * factor, 1e-3, 1.0); };
  scale(rates.gemm_efficiency);
  scale(rates.attention_forward);
  scale(rates.attention_backward);
  for (GemmPoint& point : rates.gemms) scale(point.efficiency);
  for (AttentionPoint& point : rates.attentions) scale(point.efficiency);
  rates.source += "; at " + std::to_string(std::llround(watts)) + " W instead of " +
                  std::to_string(std::llround(rates.watts)) + " W by the 0.87th power";
  rates.device += " at " + std::to_string(std::llround(watts)) + " W";
  rates.watts = watts;
  return rates;
}

void require_format(const KernelRates& rates, MatrixFormat format) {
  if (rates.has_format(format)) return;
  std::string all;
  for (std::size_t k = 0; k < kMatrixFormatCount; ++k) {
    if (rates.has_format(static_cast<MatrixFormat>(k)))
      all += (all.empty() ? "" : ", ") + std::string(kMatrixFormatNames[k]);
  }
  throw Error("products in " + std::string(kMatrixFormatNames[static_cast<std::size_t>(format)]) + ": " + rates.device +
              " has no such products, expected a format that it has: " + all);
}

KernelTime kernel_time(const Kernel& kernel, const DeviceSpec& device, const KernelRates& rates) {
  // Products of a group are started one by one, and run beside each other.
  const std::int64_t in_a_row = kernel.kind == Kernel::Kind::kGemm ? 1 : kernel.launches;
  const double own_s = static_cast<double>(rates.kernel_ns * in_a_row) / kNsPerSecond;
  const double moving_s = kernel.bytes / (device.memory_bytes_per_s * rates.memory_share(kernel.movement));
  const auto computing_s = [&](double share) { return kernel.flops / (device.flops_per_s * share); };
  KernelTime time{.device_s = own_s, .host_s = static_cast<double>(rates.host_ns * kernel.launches) / kNsPerSecond};
  switch (kernel.kind) {
    case Kernel::Kind::kGemm: {
      const double share = rates.gemm_share(kernel.product) * rates.peak(kernel.product.format);
      time.device_s += std::max(computing_s(share), moving_s);
      break;
    }
    case Kernel::Kind::kAttention:
      time.device_s += std::max(computing_s(rates.attention_share(kernel.attention)), moving_s);
      break;
    case Kernel::Kind::kRoofline:
      time.device_s += std::max(computing_s(rates.gemm_efficiency), moving_s);
      break;
    case Kernel::Kind::kMemory:
      time.device_s += moving_s;
      break;
    case Kernel::Kind::kMeasured:
      time.device_s = kernel.seconds;
      break;
    case Kernel::Kind::kCollective:
    case Kernel::Kind::kExchange:
      time.device_s = 0;  // `KernelRates::collective_s`, `exchange_s`
      break;
  }
  return time;
}

}  // namespace plumb
