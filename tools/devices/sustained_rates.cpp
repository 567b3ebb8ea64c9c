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
/// Of attention, between whose runs the device idles.
constexpr double kSettledAttention = 2 * kSettled;
constexpr double kGap = 1.1;

double reached_by(const TimedProduct& timed) {
  const auto& [m, n, k] = std::array{timed.shape.m, timed.shape.n, timed.shape.k};
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
         static_cast<double>(timed.shape.count) / timed.seconds;
}

/// Rates of the single products of a pass that were timed for long.
std::vector<double> settled_rates(const KernelTimings& timings, ProductPass pass, double runs) {
  std::vector<double> rates;
  for (const TimedProduct& timed : timings.products) {
    const bool settled = timed.seconds * runs >= kSettled;
    if (timed.shape.pass == pass && timed.shape.count == 1 && settled) rates.push_back(reached_by(timed));
  }
  std::ranges::sort(rates);
  return rates;
}

/// Products of the pass that were over before the clock fell.
bool outruns(const KernelTimings& timings, ProductPass pass, double most_settled, double runs) {
  return std::ranges::any_of(timings.products, [&](const TimedProduct& timed) {
    return timed.shape.pass == pass && timed.seconds * runs < kSettled && reached_by(timed) > kGap * most_settled;
  });
}

bool same_heads(const AttentionShape& a, const AttentionShape& b) {
  return a.heads == b.heads && a.key_width == b.key_width && a.value_width == b.value_width && a.pass == b.pass;
}

/// What attention keeps of its rate when it runs for long: the geometric mean over heads that were timed both ways,
/// over sequences so long that their length makes no other difference.
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

}  // namespace

void keep_sustained_rates(KernelTimings& timings, const TimedRuns& runs) {
  bool fell = false;
  for (std::size_t k = 0; k < kProductPassCount; ++k) {
    const auto pass = static_cast<ProductPass>(k);
    const std::vector<double> settled = settled_rates(timings, pass, runs.products);
    if (settled.empty() || !outruns(timings, pass, settled.back(), runs.products)) continue;
    fell = true;
    const double limit = settled[settled.size() / 2];
    for (TimedProduct& timed : timings.products) {
      const bool shortly = timed.shape.pass == pass && timed.seconds * runs.products < kSettled;
      if (shortly) timed.seconds *= std::max(1.0, reached_by(timed) / limit);
    }
  }
  if (!fell) return;
  const double kept = kept_share(timings, runs.attentions);
  for (TimedAttention& timed : timings.attentions) {
    if (timed.seconds * runs.attentions < kSettledAttention) timed.seconds /= kept;
  }
}

}  // namespace plumb
