#include "tools/claims/claims_summary.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "tools/terminal/quantity_text.hpp"

namespace plumb {
namespace {

std::size_t claims_of(const std::vector<ClaimGroup>& groups, ClaimProvenance provenance,
                      std::optional<ClaimKind> kind = {}) {
  std::size_t count = 0;
  for (const ClaimGroup& group : groups) {
    if (group.provenance == provenance && (!kind || group.kind == *kind)) count += group.tally.claims;
  }
  return count;
}

std::size_t reached_of(const std::vector<ClaimGroup>& groups, ClaimProvenance provenance) {
  std::size_t count = 0;
  for (const ClaimGroup& group : groups) {
    if (group.provenance == provenance) count += group.tally.reached;
  }
  return count;
}

std::string reached_text(const std::vector<ClaimGroup>& groups, ClaimProvenance provenance) {
  return std::to_string(reached_of(groups, provenance)) + " of " + std::to_string(claims_of(groups, provenance));
}

/// "60 of 72 exact, 5 of 41 modelled": of printed numbers that were simulated.
std::string by_kind(const std::vector<ClaimGroup>& groups) {
  std::string text;
  for (const ClaimGroup& group : groups) {
    const bool simulated = group.kind == ClaimKind::kExact || group.kind == ClaimKind::kModelled;
    if (group.provenance != ClaimProvenance::kPrinted || !simulated) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(group.tally.reached) + " of " +
            std::to_string(group.tally.claims) + " " +
            std::string(kClaimKindNames[static_cast<std::size_t>(group.kind)]);
  }
  return text;
}

/// What the rows came to that are no printed numbers; empty when there are none.
std::string tests_sentence(const std::vector<ClaimGroup>& groups) {
  constexpr std::array<std::pair<ClaimProvenance, std::string_view>, 3> kTests{
      {{ClaimProvenance::kClosedForm, " closed forms of a source, at sizes of our choice"},
       {ClaimProvenance::kReleasedCode, " outputs of released programs"},
       {ClaimProvenance::kReplay, " derivations of our own"}}};
  std::string text;
  for (const auto& [provenance, name] : kTests) {
    if (claims_of(groups, provenance) == 0) continue;
    text += (text.empty() ? "" : "; ") + reached_text(groups, provenance) + std::string(name);
  }
  return text.empty() ? text : "The other rows are tests, not printed numbers. Reached: " + text + ".\n";
}

}  // namespace

std::optional<double> claim_deviation(const CheckedClaim& checked) {
  const Claim& claim = checked.claim;
  if (!checked.result.ours || claim.expected == 0 || claim.bound != ClaimBound::kNone ||
      claim.kind == ClaimKind::kTrained) {
    return std::nullopt;
  }
  return (*checked.result.ours - claim.expected) / std::abs(claim.expected);
}

void ClaimDeviation::add(const CheckedClaim& checked) {
  const std::optional<double> deviation = claim_deviation(checked);
  if (!deviation) return;
  ++counted;
  sum += std::abs(*deviation);
  if (farthest != nullptr && std::abs(*deviation) <= std::abs(largest)) return;
  largest = *deviation;
  farthest = &checked;
}

void ClaimTally::add(const CheckedClaim& checked) {
  ++claims;
  reached += static_cast<std::size_t>(checked.reached());
  deviation.add(checked);
}

std::vector<ClaimGroup> claim_groups(const std::vector<CheckedClaim>& claims) {
  std::vector<ClaimGroup> groups;
  for (std::size_t p = 0; p < kClaimProvenanceNames.size(); ++p) {
    for (std::size_t k = 0; k < kClaimKindNames.size(); ++k) {
      ClaimGroup group{static_cast<ClaimProvenance>(p), static_cast<ClaimKind>(k), {}};
      for (const CheckedClaim& checked : claims) {
        if (checked.claim.provenance == group.provenance && checked.claim.kind == group.kind) group.tally.add(checked);
      }
      if (group.tally.claims > 0) groups.push_back(group);
    }
  }
  return groups;
}

ClaimTally printed_and_simulated(const std::vector<CheckedClaim>& claims) {
  ClaimTally tally;
  for (const CheckedClaim& checked : claims) {
    const bool simulated = checked.claim.kind == ClaimKind::kExact || checked.claim.kind == ClaimKind::kModelled;
    if (checked.claim.provenance == ClaimProvenance::kPrinted && simulated) tally.add(checked);
  }
  return tally;
}

std::string claims_headline(const std::vector<CheckedClaim>& claims) {
  const std::vector<ClaimGroup> groups = claim_groups(claims);
  const ClaimTally printed = printed_and_simulated(claims);
  std::string text;
  if (printed.claims > 0) {
    text += std::to_string(printed.reached) + " of " + std::to_string(printed.claims) +
            " printed numbers are met by a simulation, to the digits that were printed (" + by_kind(groups) + ").\n";
  }
  if (printed.deviation.counted > 0) {
    text += "Over all " + std::to_string(printed.deviation.counted) + " the mean deviation is " +
            fixed_text(100 * printed.deviation.mean(), 2) + " % and the largest " +
            deviation_text(printed.deviation.largest) + " (" + printed.deviation.farthest->claim.id + ").\n";
  }
  if (const std::size_t formulas = claims_of(groups, ClaimProvenance::kPrinted, ClaimKind::kFormula)) {
    text += "Printed numbers with a formula only, which are never reached: " + std::to_string(formulas) + ".\n";
  }
  if (const std::size_t trained = claims_of(groups, ClaimProvenance::kPrinted, ClaimKind::kTrained)) {
    text += "Printed numbers that were held against a training: " + std::to_string(trained) + ".\n";
  }
  return text + tests_sentence(groups);
}

std::string deviation_text(double deviation) {
  if (std::abs(deviation) <= 1e-9) return "0";
  if (std::abs(deviation) < 0.5e-4) return "< 0.01 %";
  return (deviation > 0 ? "+" : "-") + fixed_text(100 * std::abs(deviation), 2) + " %";
}

std::string provenance_text(ClaimProvenance provenance) {
  std::string text(kClaimProvenanceNames[static_cast<std::size_t>(provenance)]);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

}  // namespace plumb
