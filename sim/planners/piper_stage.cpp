#include "sim/planners/piper_stage.hpp"

#include <algorithm>

namespace plumb {
namespace {

double bytes_of(const TensorVariant& variant, std::int32_t copies) {
  return variant.bytes_per_copy * copies + variant.bytes_fixed;
}

/// The largest number from 0 to `most` for which `holds` is true, if it is true up to some number and false after it.
template <class Holds>
std::int32_t last_that(std::int32_t most, Holds holds) {
  std::int32_t low = 0;
  std::int32_t high = most + 1;
  if (most > 0 && holds(most)) return most;
  while (high - low > 1) {
    const std::int32_t middle = low + (high - low) / 2;
    (holds(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace

double PiperRates::replicated(const StageSums& sums, std::int32_t d) const {
  const double share = 1.0 / d;
  const double transferred =
      2 * share * sums.edge_bytes + 4 * (d - 1) * share / static_cast<double>(microbatches) * sums.parameter_bytes;
  return sums.seconds * share + transferred / bytes_per_s;
}

PiperStage::PiperStage(const VariantGraph& graph, const PiperRates& rates, NodeSet own, std::int32_t degree)
    : graph_(&graph), rates_(&rates), own_(std::move(own)), degree_(degree) {
  own_.for_each([&](std::size_t k) { layers_.push_back(k); });
  if (!find_fastest(degree)) return;
  most_ = roomy_ = rates.most_copies;
  if (rates.memory_bytes > 0) {
    most_ = last_that(most_, [&](std::int32_t copies) { return leanest_bytes(copies) <= rates.memory_bytes; });
    roomy_ = last_that(most_, [&](std::int32_t copies) { return fastest_bytes(copies) <= rates.memory_bytes; });
  }
  ordered_ = roomy_ == most_ || keeps_order();
}

/// False when a layer has no variant of the degree.
bool PiperStage::find_fastest(std::int32_t degree) {
  for (const std::size_t layer : layers_) {
    const std::vector<TensorVariant>& all = graph_->variants[layer];
    std::size_t fastest = all.size();
    for (std::size_t x = 0; x < all.size(); ++x) {
      if (all[x].degree != degree) continue;
      if (fastest == all.size() || all[x].seconds < all[fastest].seconds) fastest = x;
    }
    if (fastest == all.size()) return false;
    fastest_.push_back(fastest);
  }
  return true;
}

double PiperStage::leanest_bytes(std::int32_t copies) const {
  double sum = 0;
  for (const std::size_t layer : layers_) {
    double least = kNever;
    for (const TensorVariant& variant : graph_->variants[layer]) {
      if (variant.degree == degree_) least = std::min(least, bytes_of(variant, copies));
    }
    sum += least;
  }
  return sum;
}

double PiperStage::fastest_bytes(std::int32_t copies) const {
  double sum = 0;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    sum += bytes_of(graph_->variants[layers_[i]][fastest_[i]], copies);
  }
  return sum;
}

/// All switches that save memory, the best first.
std::vector<PiperStage::Switch> PiperStage::switches(std::int32_t copies) const {
  std::vector<Switch> found;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const std::vector<TensorVariant>& all = graph_->variants[layers_[i]];
    const TensorVariant& fastest = all[fastest_[i]];
    for (std::size_t x = 0; x < all.size(); ++x) {
      const double saved = bytes_of(fastest, copies) - bytes_of(all[x], copies);
      if (all[x].degree != degree_ || !(saved > 0)) continue;
      found.push_back({(all[x].seconds - fastest.seconds) / saved, saved, i, x});
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const Switch& a, const Switch& b) { return a.ratio < b.ratio; });
  return found;
}

/// Whether the heuristic takes the same switches in the same order for all numbers of copies, each layer once, so that
/// more copies mean more switches, and these cost time only. Two ratios, whose bytes grow linearly with the copies,
/// change places at most once: the order for the fewest and for the most copies says it for all between.
bool PiperStage::keeps_order() const {
  const std::vector<Switch> few = switches(roomy_ + 1);
  const std::vector<Switch> many = switches(most_);
  const auto same = [](const Switch& a, const Switch& b) { return a.layer == b.layer && a.variant == b.variant; };
  if (!std::equal(few.begin(), few.end(), many.begin(), many.end(), same)) return false;
  std::vector<bool> seen(layers_.size(), false);
  return std::all_of(few.begin(), few.end(), [&](const Switch& one) {
    const std::vector<TensorVariant>& all = graph_->variants[layers_[one.layer]];
    const TensorVariant& fastest = all[fastest_[one.layer]];
    const TensorVariant& lean = all[one.variant];
    const bool first = !seen[one.layer];
    seen[one.layer] = true;
    return first && lean.parameter_bytes == fastest.parameter_bytes && lean.receives_bytes == fastest.receives_bytes &&
           lean.sends_bytes == fastest.sends_bytes;
  });
}

StageSums PiperStage::sums_of(const std::vector<std::size_t>& variants) const {
  StageSums sums{0, 0, 0, false};
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const std::size_t k = layers_[i];
    const TensorVariant& variant = graph_->variants[k][variants[i]];
    sums.seconds += variant.seconds;
    sums.parameter_bytes += variant.parameter_bytes;
    sums.recompute = sums.recompute || variant.id == "activation recomp";
    for (std::size_t e = 0; e < graph_->before[k].size(); ++e) {
      const VariantEdge& edge = graph_->before[k][e];
      if (!own_.has(at(edge.node))) sums.edge_bytes += edge.bytes + variant.receives_bytes[e];
    }
    for (std::size_t e = 0; e < graph_->after[k].size(); ++e) {
      const VariantEdge& edge = graph_->after[k][e];
      if (!own_.has(at(edge.node))) sums.edge_bytes += edge.bytes + variant.sends_bytes[e];
    }
  }
  return sums;
}

StageSums PiperStage::compute(std::int32_t copies) const {
  if (copies <= roomy_) return sums_of(fastest_);
  std::vector<std::size_t> variants = fastest_;
  std::vector<double> saved(layers_.size(), 0);
  double used = fastest_bytes(copies);
  for (const Switch& one : switches(copies)) {
    if (used <= rates_->memory_bytes) break;
    if (one.bytes <= saved[one.layer]) continue;
    used -= one.bytes - saved[one.layer];
    saved[one.layer] = one.bytes;
    variants[one.layer] = one.variant;
  }
  return sums_of(variants);
}

/// Requires copies that fit.
const StageSums& PiperStage::heuristic(std::int32_t copies) {
  copies = std::max(copies, roomy_);
  auto place = std::lower_bound(known_.begin(), known_.end(), copies,
                                [](const auto& entry, std::int32_t other) { return entry.first < other; });
  if (place == known_.end() || place->first != copies) place = known_.insert(place, {copies, compute(copies)});
  return place->second;
}

StageSums PiperStage::chosen(std::int32_t copies, std::int32_t d) {
  if (copies > most_) return {};
  StageSums best = heuristic(copies);
  if (ordered_) return best;
  for (std::int32_t more = std::max(copies, roomy_) + 1; more <= most_; ++more) {
    const StageSums& other = heuristic(more);
    if (rates_->replicated(other, d) < rates_->replicated(best, d)) best = other;
  }
  return best;
}

double PiperStage::seconds(std::int32_t copies, std::int32_t d) {
  if (copies > most_) return kNever;
  return rates_->replicated(ordered_ ? heuristic(copies) : chosen(copies, d), d);
}

std::int32_t PiperStage::copies_within(double limit, std::int32_t d) {
  if (most_ == 0 || seconds(1, d) > limit) return 0;
  if (most_ == roomy_) return most_;
  return last_that(most_, [&](std::int32_t copies) { return seconds(copies, d) <= limit; });
}

}  // namespace plumb
