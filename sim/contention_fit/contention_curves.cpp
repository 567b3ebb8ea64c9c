#include "sim/contention_fit/contention_curves.hpp"

#include <utility>

namespace plumb {

ContentionCurves::ContentionCurves(std::vector<CurvePoint> points, CommonUnknowns common)
    : points_(std::move(points)), common_(common), size_(points_.size()) {
  for (std::size_t p = 0; p < points_.size(); ++p) curves_[points_[p].of * kComputeLoads + points_[p].by].push_back(p);
  for (std::size_t c = 0; c < common_.size(); ++c) {
    if (common_[c]) number_[c] = size_++;
  }
}

void ContentionCurves::parts(std::size_t of, const OverlapInterval& interval, double fallen,
                             std::vector<PartOf>& parts) const {
  parts.clear();
  for (std::size_t by = 0; by < kComputeLoads; ++by) {
    if (interval.others[by] > 0) curve_parts(of, by, interval.others[by], parts);
  }
  const auto add = [&](CommonUnknown unknown, double weight, RateFactor factor) {
    if (has(unknown) && weight > 0) parts.push_back({number(unknown), weight, factor});
  };
  add(CommonUnknown::kMessage, interval.messages, RateFactor::kOccupied);
  add(CommonUnknown::kCollective, interval.collectives, RateFactor::kOccupied);
  add(CommonUnknown::kClock, fallen, RateFactor::kClock);
}

void ContentionCurves::curve_parts(std::size_t of, std::size_t by, std::uint16_t others,
                                   std::vector<PartOf>& parts) const {
  const std::vector<std::size_t>& known = curve(of, by);
  double before = 0;
  for (std::size_t k = 0; k < known.size(); ++k) {
    const double here = points_[known[k]].others;
    if (here < others) {
      before = here;
      continue;
    }
    const double share = (static_cast<double>(others) - before) / (here - before);
    if (k > 0 && share < 1) parts.push_back({.unknown = known[k - 1], .weight = 1 - share});
    parts.push_back({.unknown = known[k], .weight = share});
    return;
  }
  if (!known.empty()) parts.push_back({.unknown = known.back(), .weight = 1});
}

double ContentionCurves::gamma(std::size_t of, std::size_t by, std::uint16_t others,
                               std::span<const double> values) const {
  std::vector<PartOf> found;
  curve_parts(of, by, others, found);
  double sum = 0;
  for (const PartOf& part : found) sum += part.weight * values[part.unknown];
  return sum;
}

}  // namespace plumb
