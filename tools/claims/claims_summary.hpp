#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/claims/claims.hpp"

namespace plumb {

/// How far several of our numbers are from what is expected, in relative terms. Bounds, trainings (their last digits
/// depend on the processor) and an expected 0 have no deviation.
struct ClaimDeviation {
  std::size_t counted = 0;
  double sum = 0;                          ///< of |ours / expected - 1|
  double largest = 0;                      ///< signed
  const CheckedClaim* farthest = nullptr;  ///< whose deviation is `largest`; null when nothing was counted

  void add(const CheckedClaim& checked);
  double mean() const { return counted == 0 ? 0 : sum / static_cast<double>(counted); }
};

/// Claims of which the same may be said.
struct ClaimTally {
  std::size_t claims = 0;
  std::size_t reached = 0;
  ClaimDeviation deviation;

  void add(const CheckedClaim& checked);
};

/// ours / expected - 1, where that says something.
std::optional<double> claim_deviation(const CheckedClaim& checked);

/// A kind of claims of one provenance.
struct ClaimGroup {
  ClaimProvenance provenance = ClaimProvenance::kPrinted;
  ClaimKind kind = ClaimKind::kExact;
  ClaimTally tally;
};

/// The groups that have claims, in the order of the enumerations. Pointers refer to `claims`.
std::vector<ClaimGroup> claim_groups(const std::vector<CheckedClaim>& claims);

/// The printed numbers that a simulation was held against: printed claims of the kinds exact and modelled.
ClaimTally printed_and_simulated(const std::vector<CheckedClaim>& claims);

/// What `results` says first: how many printed numbers simulations meet, how far they are away, and what the other rows
/// are. Sentences, one per line.
std::string claims_headline(const std::vector<CheckedClaim>& claims);

/// "+1.25 %", "< 0.01 %", "0".
std::string deviation_text(double deviation);

/// "closed form" for kClosedForm.
std::string provenance_text(ClaimProvenance provenance);

}  // namespace plumb
