#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "models/contention.hpp"
#include "sim/company.hpp"

namespace plumb {

/// One unknown of the fit: gamma of kind `of` where `others` of kind `by` are under way.
struct CurvePoint {
  std::size_t of = 0;
  std::size_t by = 0;
  std::uint16_t others = 0;
};

/// The unknowns: curves that are linear between their points, 0 without others and constant behind the last point.
/// Optionally the share that a message takes, the same for all kinds: the last unknown.
class ContentionCurves {
 public:
  ContentionCurves(std::vector<CurvePoint> points, bool theft);

  const std::vector<CurvePoint>& points() const { return points_; }
  std::size_t size() const { return points_.size() + (theft_ ? 1 : 0); }
  bool has_theft() const { return theft_; }

  /// Whether the curve of `of` by `by` has points.
  bool knows(std::size_t of, std::size_t by) const { return !curve(of, by).empty(); }

  /// How much of each unknown an action of kind `of` meets in `stretch`: adds (unknown, weight) to `parts`.
  struct PartOf {
    std::size_t unknown = 0;
    double weight = 0;
  };
  void parts(std::size_t of, const Stretch& stretch, std::vector<PartOf>& parts) const;

  /// The value of a curve at `others`, from the values of all unknowns.
  double gamma(std::size_t of, std::size_t by, std::uint16_t others, std::span<const double> values) const;

 private:
  const std::vector<std::size_t>& curve(std::size_t of, std::size_t by) const {
    return curves_[of * kComputeLoads + by];
  }
  void curve_parts(std::size_t of, std::size_t by, std::uint16_t others, std::vector<PartOf>& parts) const;

  std::vector<CurvePoint> points_;
  bool theft_;
  std::array<std::vector<std::size_t>, kComputeLoads * kComputeLoads> curves_;  ///< points by number of others
};

}  // namespace plumb
