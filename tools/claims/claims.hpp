#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plumb {

enum class ClaimKind : std::uint8_t {
  kExact,     ///< a simulation must give the published number
  kFormula,   ///< only a closed form was published; a simulation may accompany it
  kModelled,  ///< their hardware, modelled by us
  kTrained,   ///< their experiment, trained by us
};

inline constexpr std::array<std::string_view, 4> kClaimKindNames{"exact", "formula", "modelled", "trained"};

/// One published number (document: results/claims.json, described in tools/commands/reproduce.md).
struct Claim {
  std::string id;      ///< "zb-h1-p8-m24"
  std::string system;  ///< "Zero Bubble"
  std::string source;  ///< "Qi et al., arXiv 2401.10241, table 5"
  std::string what;    ///< "bubble rate of ZB-H1, 1.5 B parameters, p=8, m=24"
  ClaimKind kind = ClaimKind::kExact;
  std::string command;   ///< "simulate zb-h1 -p 8 -m 24 --cost F=1,I=1,W=1"; empty for a bare formula
  std::string baseline;  ///< a second command: the metric is that of `command` over that of `baseline`
  std::string metric;    ///< one of claim_metrics()
  std::string formula;   ///< of kFormula; see tools/claims/expression.hpp
  double published = 0;
  double tolerance = 0;         ///< largest |ours - published|
  std::string note;             ///< how it was read, or why it differs
  bool expect_differs = false;  ///< known not to be reached; `note` says why
  bool is_long = false;         ///< only run when asked for by name or with --long
};

/// The result of checking a claim.
struct ClaimResult {
  std::optional<double> ours;       ///< no value when it could not be run
  std::optional<double> simulated;  ///< by the command, when a formula gives `ours`
  std::string error;                ///< one line; empty when it ran
  bool reached = false;

  /// Neither reached nor known to differ, or known to differ and yet reached.
  bool is_surprise(const Claim& claim) const { return reached == claim.expect_differs || !error.empty(); }
};

/// Reads a document of claims. Throws `Error` with line, column and path.
std::vector<Claim> claims_from_json(std::string text, const std::string& file_name);

/// Names of the figures that claims are about.
std::vector<std::string_view> claim_metrics();

/// Simulates (or trains) what the claim asks for. Never throws for a claim that cannot be run: the result says why.
ClaimResult run_claim(const Claim& claim);

}  // namespace plumb
