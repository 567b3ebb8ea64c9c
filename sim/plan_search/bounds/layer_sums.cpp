#include "sim/plan_search/bounds/layer_sums.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

#include "models/costs/time_limits.hpp"
#include "models/ground/error.hpp"

namespace plumb {
namespace {

/// Most that bounds multiply the time of all layers and microbatches by (tried steps, devices of a node).
constexpr double kMostTimes = 4096;

/// Refuses layers whose step no 64-bit clock can hold: sums are checked once, so that no bound need be.
void check_step(const LayerPrices& prices, std::int64_t microbatches, double fastest) {
  double layers = 0;
  for (const StageTimes& times : prices.times) {
    layers += static_cast<double>(times.f) + static_cast<double>(std::max(times.b, times.i + times.w)) +
              static_cast<double>(times.u);
  }
  const double most = static_cast<double>(kMostRun) / kMostTimes;
  const double step = layers * static_cast<double>(microbatches + 1) * std::max(1.0, fastest);
  if (step <= most) return;
  char text[64];
  std::snprintf(text, sizeof text, "%.4g ns; expected at most %.4g ns", step, most);
  throw Error("plan: all layers take, for " + std::to_string(microbatches) + " microbatches of a step, " + text);
}

}  // namespace

LayerSums::LayerSums(const LayerPrices& prices, std::int64_t microbatches)
    : prices_(prices), microbatches_(microbatches), fast_(*std::max_element(prices.speed.begin(), prices.speed.end())) {
  check_step(prices, microbatches, fast_);
  for (auto* sums : {&forward, &input, &backward, &held, &kept, &gradients}) sums->assign(1, 0);
  for (std::size_t k = 0; k < prices.times.size(); ++k) {
    const StageTimes& times = prices.times[k];
    forward.push_back(forward.back() + times.f);
    input.push_back(input.back() + std::min(times.b, times.i));
    backward.push_back(backward.back() + least_backward(times));
    held.push_back(held.back() + prices.held_bytes[k]);
    kept.push_back(kept.back() + prices.kept_bytes[k]);
    gradients.push_back(gradients.back() + prices.memory[k].gradient_bytes);
  }
  const auto& usable = prices.usable_bytes;
  const bool limited = std::find(usable.begin(), usable.end(), 0) == usable.end();
  room_bytes = limited ? *std::max_element(usable.begin(), usable.end()) : std::numeric_limits<std::int64_t>::max();
}

double LayerSums::hop(const Cluster::Network& links, double bytes) {
  const double sending = links.bytes_per_s > 0 ? bytes / links.bytes_per_s * 1e9 : 0;
  return static_cast<double>(links.latency_ns) + sending;
}

/// Converts a duration that does not depend on the places' speed to work of the fastest place.
Ticks LayerSums::as_work(double ticks) const { return static_cast<Ticks>(std::floor(std::max(0.0, ticks) * fast_)); }

LayerSums::Message LayerSums::message(std::int64_t bytes, bool between_nodes) const {
  if (!prices_.links_are_modelled) return {};
  const auto over = [&](const Cluster::Network& links) {
    const double all = hop(links, static_cast<double>(bytes)) - 2;
    return Message{as_work(all), as_work(all - hop(links, 0))};
  };
  const Message far = over(prices_.far);
  if (between_nodes) return far;
  const Message near = over(prices_.near);
  return {std::min(near.all, far.all), std::min(near.sending, far.sending)};
}

Ticks LayerSums::reduction(std::int64_t bytes, std::int64_t holders, bool between_nodes) const {
  if (holders < 2 || !prices_.links_are_modelled || prices_.whole.all_reduce > 0) return 0;
  const double part = static_cast<double>(bytes) / static_cast<double>(holders);
  const double far = hop(prices_.far, part);
  const double slowest = between_nodes || holders > prices_.most_in_node ? far : std::min(far, hop(prices_.near, part));
  return as_work(2.0 * static_cast<double>(holders - 1) * slowest - 1);
}

Ticks LayerSums::in_time(Ticks work) const {
  const bool exact = std::all_of(prices_.speed.begin(), prices_.speed.end(), [](double speed) { return speed == 1.0; });
  if (exact) return work;
  const Ticks roundings = 2 * (microbatches_ + 1) * static_cast<Ticks>(layers() + 1);
  return std::max<Ticks>(0, static_cast<Ticks>(std::floor(static_cast<double>(work) / fast_)) - roundings);
}

}  // namespace plumb
