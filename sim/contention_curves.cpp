#include "sim/contention_curves.hpp"

#include <utility>

namespace plumb {

ContentionCurves::ContentionCurves(std::vector<CurvePoint> points, bool theft)
    : points_(std::move(points)), theft_(theft) {
  for (std::size_t p = 0; p < points_.size(); ++p) curves_[points_[p].of * kComputeLoads + points_[p].by].push_back(p);
}

void ContentionCurves::parts(std::size_t of, const Stretch& stretch, std::vector<PartOf>& parts) const {
  parts.clear();
  for (std::size_t by = 0; by < kComputeLoads; ++by) {
    if (stretch.others[by] > 0) curve_parts(of, by, stretch.others[by], parts);
  }
  if (theft_ && stretch.messages > 0) parts.push_back({points_.size(), static_cast<double>(stretch.messages)});
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
    if (k > 0 && share < 1) parts.push_back({known[k - 1], 1 - share});
    parts.push_back({known[k], share});
    return;
  }
  if (!known.empty()) parts.push_back({known.back(), 1});
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
