#include "tools/devices/sustained_rates.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace plumb {
namespace {

/// Seconds of heavy work after which the clock has fallen: on B200, products that ran for less than 40 ms in all reach
/// up to 0.65 of the peak, and none that ran for 80 ms and more exceeds 0.55.
constexpr double kSettled = 0.08;
/// Seconds from which on it falls further, slowly, as the device gets warm.
constexpr double kWarming = 0.5;
/// Slowdown of attention, between whose runs the device idles.
constexpr double kSettledAttention = 2 * kSettled;
constexpr double kGap = 1.1;
/// What devices at their power limit take longer where all wait for the slowest of a node: clocks that the limit leaves
/// differ by 5 % and more between the eight devices of a node ("Not all accelerators are created equal" of
/// ml-engineering, stas00 744d01e), and one of them was timed.
constexpr double kSlowest = 1 + 0.05 / 2;

double reached_by(const TimedProduct& timed) {
  const auto& [m, n, k] = std::array{timed.shape.m, timed.shape.n, timed.shape.k};
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
         static_cast<double>(timed.shape.count) / timed.seconds;
}

/// Returns the rates of the single products of a pass that were timed for long.
std::vector<double> settled_rates(const KernelTimings& timings, ProductPass pass, double runs) {
  std::vector<double> rates;
  for (const TimedProduct& timed : timings.products) {
    const bool settled = timed.seconds * runs >= kSettled;
    if (timed.shape.pass == pass && timed.shape.count == 1 && settled) rates.push_back(reached_by(timed));
  }
  std::ranges::sort(rates);
  return rates;
}

/// Returns the products of the pass that were over before the clock fell.
bool outruns(const KernelTimings& timings, ProductPass pass, double most_settled, double runs) {
  return std::ranges::any_of(timings.products, [&](const TimedProduct& timed) {
    return timed.shape.pass == pass && timed.seconds * runs < kSettled && reached_by(timed) > kGap * most_settled;
  });
}

/// How the clock falls while the device gets warm: rates of products that are timed for T > kWarming are those of the
/// longest times (longest / T)^fall.
struct Warming {
  double fall = 0;
  double longest = kWarming;

  double slower(double seconds) const { return std::pow(longest / std::clamp(seconds, kWarming, longest), fall); }
};

/// Returns a line through the logarithms of rates over those of seconds, with a height of its own for each pass.
/// Products that add to a gradient take no part: the longer they are, the less adding counts. It counts only where it
/// falls by more than twice its standard error.
Warming warming_of(const KernelTimings& timings, double runs) {
  struct Point {
    double x, y;
  };
  std::array<std::vector<Point>, kProductPassCount> passes;
  Warming warming;
  for (const TimedProduct& timed : timings.products) {
    const double seconds = timed.seconds * runs;
    if (timed.shape.count > 1 || timed.shape.pass == ProductPass::kWeightGrad || seconds < kWarming) continue;
    passes[static_cast<std::size_t>(timed.shape.pass)].push_back({std::log(seconds), std::log(reached_by(timed))});
    warming.longest = std::max(warming.longest, seconds);
  }
  double xx = 0;
  double xy = 0;
  double yy = 0;
  double free = -1;  // degrees of freedom
  for (const std::vector<Point>& points : passes) {
    if (points.empty()) continue;
    Point mean{};
    for (const auto& [x, y] : points) mean = {mean.x + x, mean.y + y};
    const auto count = static_cast<double>(points.size());
    mean = {mean.x / count, mean.y / count};
    for (const auto& [x, y] : points) {
      xx += (x - mean.x) * (x - mean.x);
      xy += (x - mean.x) * (y - mean.y);
      yy += (y - mean.y) * (y - mean.y);
    }
    free += count - 1;
  }
  if (free < 1 || xx <= 0) return warming;
  const double slope = xy / xx;
  const double error = std::sqrt(std::max(0.0, yy - slope * xy) / free / xx);
  constexpr double kSure = 2;
  if (-slope > kSure * error) warming.fall = -slope;
  return warming;
}

bool same_heads(const AttentionShape& a, const AttentionShape& b) {
  return a.heads == b.heads && a.key_width == b.key_width && a.value_width == b.value_width && a.pass == b.pass;
}

/// Returns what attention keeps of its rate when it runs for long: the geometric mean over heads that were timed both
/// ways, over sequences so long that their length makes no other difference.
double kept_share(const KernelTimings& timings, double runs) {
  constexpr std::int64_t kAlike = 4;  // times as many rows
  constexpr double kLong = 2;
  double sum = 0;
  double pairs = 0;
  for (const TimedAttention& slow : timings.attentions) {
    if (slow.seconds * runs < kLong * kSettledAttention) continue;
    for (const TimedAttention& fast : timings.attentions) {
      const bool near = fast.shape.rows < slow.shape.rows && fast.shape.rows * kAlike >= slow.shape.rows;
      if (!near || !same_heads(fast.shape, slow.shape) || fast.seconds * runs >= kSettledAttention) continue;
      sum += std::log((slow.flops / slow.seconds) / (fast.flops / fast.seconds));
      ++pairs;
    }
  }
  return pairs > 0 ? std::min(1.0, std::exp(sum / pairs)) : 1;
}

/// Products at the clock that is left after the longest of them.
void keep_products(KernelTimings& timings, double runs) {
  const Warming warming = warming_of(timings, runs);
  std::array<std::vector<TimedProduct*>, kProductPassCount> shortly;
  for (TimedProduct& timed : timings.products) {
    const double seconds = timed.seconds * runs;
    if (seconds < kSettled) {
      shortly[static_cast<std::size_t>(timed.shape.pass)].push_back(&timed);
    } else {
      timed.seconds *= warming.slower(seconds);
    }
  }
  for (std::size_t k = 0; k < kProductPassCount; ++k) {
    const std::vector<double> settled = settled_rates(timings, static_cast<ProductPass>(k), runs);
    if (settled.empty()) continue;
    const double limit = settled[settled.size() / 2];
    for (TimedProduct* timed : shortly[k]) timed->seconds *= std::max(1.0, reached_by(*timed) / limit);
  }
  for (TimedProduct& timed : timings.products) timed.seconds *= kSlowest;
}

}  // namespace

void keep_sustained_rates(KernelTimings& timings, const TimedRuns& runs) {
  bool fell = false;
  for (std::size_t k = 0; k < kProductPassCount; ++k) {
    const auto pass = static_cast<ProductPass>(k);
    const std::vector<double> settled = settled_rates(timings, pass, runs.products);
    fell = fell || (!settled.empty() && outruns(timings, pass, settled.back(), runs.products));
  }
  if (!fell) return;
  keep_products(timings, runs.products);
  const double kept = kept_share(timings, runs.attentions);
  for (TimedAttention& timed : timings.attentions) {
    if (timed.seconds * runs.attentions < kSettledAttention) timed.seconds /= kept;
    timed.seconds *= kSlowest;
  }
}

}  // namespace plumb
