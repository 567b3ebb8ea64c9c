#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plumb {

/// How our number comes about.
enum class ClaimKind : std::uint8_t {
  kExact,     ///< a simulation of what the source describes
  kFormula,   ///< there is only a closed form, so nothing of ours is compared
  kModelled,  ///< a simulation that stands for their hardware or workload
  kTrained,   ///< their experiment, trained by us
};

/// Where the number comes from that ours is compared with.
enum class ClaimProvenance : std::uint8_t {
  kPrinted,       ///< it stands in the source
  kClosedForm,    ///< the source's formula at a size that we chose
  kReleasedCode,  ///< output of the authors' program
  kReplay,        ///< our own derivation: a regression test, no claim about a source
};

/// What a source says of its number.
enum class ClaimBound : std::uint8_t { kNone, kAtLeast, kAtMost };

inline constexpr std::array<std::string_view, 4> kClaimKindNames{"exact", "formula", "modelled", "trained"};
inline constexpr std::array<std::string_view, 4> kClaimProvenanceNames{"printed", "closed_form", "released_code",
                                                                       "replay"};
inline constexpr std::array<std::string_view, 3> kClaimBoundNames{"", "at_least", "at_most"};

/// One number to be reached (document: results/claims.json, described in tools/commands/reproduce.md).
struct Claim {
  std::string id;      ///< "zb-h1-p8-m24"
  std::string system;  ///< "Zero Bubble"
  std::string source;  ///< "Qi et al., arXiv 2401.10241, table 5"
  std::string what;    ///< "bubble rate of ZB-H1, 1.5 B parameters, p=8, m=24"
  ClaimProvenance provenance = ClaimProvenance::kPrinted;
  ClaimKind kind = ClaimKind::kExact;
  std::string command;   ///< "simulate zb-h1 -p 8 -m 24 --cost F=1,I=1,W=1"; empty for a bare formula
  std::string baseline;  ///< a second command: the metric is that of `command` over that of `baseline`
  std::string metric;    ///< one of claim_metrics()
  std::string formula;   ///< must agree with `expected`; see tools/claims/expression.hpp
  std::string printed;   ///< of printed numbers, their digits: "0.2431", or "12.9/11.8" for the ratio of two
  double expected = 0;
  double tolerance = 0;          ///< largest |ours - expected|; of printed numbers half a unit of the last digit
  std::string tolerance_reason;  ///< why the tolerance is not that of the digits
  ClaimBound bound = ClaimBound::kNone;
  std::string note;             ///< how it was read, or why it is not reached
  bool expect_differs = false;  ///< known not to be reached; `note` says why
  bool is_long = false;         ///< only run when asked for by name or with --long
};

/// The result of checking a claim.
struct ClaimResult {
  std::optional<double> ours;     ///< simulated or trained; no value for a bare formula or when it could not be run
  std::optional<double> formula;  ///< value of the claim's closed form
  std::string error;              ///< one line; empty when it ran
  bool agrees = false;            ///< ours agrees with what is expected; for a bare formula, the formula does

  /// Neither agrees nor is known to differ, or is known to differ and yet agrees.
  bool is_surprise(const Claim& claim) const { return agrees == claim.expect_differs || !error.empty(); }
};

/// A claim and its result.
struct CheckedClaim {
  Claim claim;
  ClaimResult result;

  /// A simulation or a training agrees. A bare formula is never reached: nothing of ours was compared.
  bool reached() const { return result.agrees && claim.kind != ClaimKind::kFormula; }
};

/// Reads a document of claims. Throws `Error` with line, column and path.
std::vector<Claim> claims_from_json(std::string text, const std::string& file_name);

/// Names of the figures that claims are about.
std::vector<std::string_view> claim_metrics();

/// Simulates (or trains) what the claim asks for. Never throws for a claim that cannot be run: the result says why.
ClaimResult run_claim(const Claim& claim);

}  // namespace plumb
