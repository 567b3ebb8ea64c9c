#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "models/cluster/contention.hpp"
#include "sim/contention_fit/overlap.hpp"

namespace plumb {

/// One unknown of the fit: gamma of actions of kind `of` while `others` actions of kind `by` are under way.
struct CurvePoint {
  std::size_t of = 0;
  std::size_t by = 0;
  std::uint16_t others = 0;
};

/// Unknowns that are the same for actions of all kinds.
enum class CommonUnknown : std::uint8_t {
  kMessage,     ///< the share of a device that a message occupies
  kCollective,  ///< the share of a device that a collective occupies
  kClock,       ///< how far the clock falls when all devices compute
};

inline constexpr std::size_t kCommonUnknowns = 3;
/// Which of them there are.
using CommonUnknowns = std::array<bool, kCommonUnknowns>;

/// Through which factor of the rate an unknown acts (fit_contention.hpp).
enum class RateFactor : std::uint8_t { kSlower, kOccupied, kClock };

/// The unknowns: curves that are linear between their points, 0 without others and constant after the last point;
/// after all points those that are common to all kinds.
class ContentionCurves {
 public:
  ContentionCurves(std::vector<CurvePoint> points, CommonUnknowns common);

  const std::vector<CurvePoint>& points() const { return points_; }
  std::size_t size() const { return size_; }
  bool has(CommonUnknown unknown) const { return common_[static_cast<std::size_t>(unknown)]; }
  /// Returns its number; `has` it.
  std::size_t number(CommonUnknown unknown) const { return number_[static_cast<std::size_t>(unknown)]; }

  /// Returns whether the curve of `of` by `by` has points.
  bool knows(std::size_t of, std::size_t by) const { return !curve(of, by).empty(); }

  /// An unknown that applies to an action, and how much of it.
  struct PartOf {
    std::size_t unknown = 0;
    double weight = 0;
    RateFactor factor = RateFactor::kSlower;
  };
  /// Replaces `parts` by the unknowns that apply to an action of kind `of` in `interval`. `fallen` is the share of its
  /// fall that the clock has fallen by.
  void parts(std::size_t of, const OverlapInterval& interval, double fallen, std::vector<PartOf>& parts) const;

  /// Returns the value of a curve at `others`, from the values of all unknowns.
  double gamma(std::size_t of, std::size_t by, std::uint16_t others, std::span<const double> values) const;

 private:
  const std::vector<std::size_t>& curve(std::size_t of, std::size_t by) const {
    return curves_[of * kComputeLoads + by];
  }
  void curve_parts(std::size_t of, std::size_t by, std::uint16_t others, std::vector<PartOf>& parts) const;

  std::vector<CurvePoint> points_;
  CommonUnknowns common_;
  std::array<std::size_t, kCommonUnknowns> number_{};
  std::size_t size_ = 0;
  std::array<std::vector<std::size_t>, kComputeLoads * kComputeLoads> curves_;  ///< points by number of others
};

}  // namespace plumb
