#include "tools/claims/claims_report.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include <nlohmann/json.hpp>

#include "models/ground/error.hpp"
#include "tools/claims/claims_summary.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

/// The claims of one system, in the order of the document.
struct System {
  std::string name;
  std::vector<const CheckedClaim*> claims;
};

std::vector<System> by_system(const std::vector<CheckedClaim>& claims) {
  std::vector<System> systems;
  for (const CheckedClaim& checked : claims) {
    auto found = std::find_if(systems.begin(), systems.end(),
                              [&](const System& system) { return system.name == checked.claim.system; });
    if (found == systems.end()) found = systems.insert(systems.end(), {checked.claim.system, {}});
    found->claims.push_back(&checked);
  }
  return systems;
}

std::string value_text(double value) { return number_text(value, 6); }

/// What ours is compared with: digits as they were printed, or a value.
std::string expected_text(const Claim& claim) {
  std::string number = claim.printed.empty() ? value_text(claim.expected) : claim.printed;
  if (number.find('/') != std::string::npos) number += " = " + value_text(claim.expected);
  if (claim.bound == ClaimBound::kAtLeast) return "at least " + number;
  if (claim.bound == ClaimBound::kAtMost) return "at most " + number;
  return claim.tolerance_reason.empty() ? number : number + " ± " + value_text(claim.tolerance);
}

std::string ours_text(const CheckedClaim& checked) {
  return checked.result.ours ? value_text(*checked.result.ours) : "-";
}

std::string difference_text(const CheckedClaim& checked) {
  const ClaimResult& result = checked.result;
  if (!result.ours || checked.claim.bound != ClaimBound::kNone) return "-";
  // Last digits of a training depend on the processor.
  if (checked.claim.kind == ClaimKind::kTrained && checked.reached()) return "within tolerance";
  if (const std::optional<double> deviation = claim_deviation(checked)) return deviation_text(*deviation);
  const double difference = *result.ours - checked.claim.expected;
  return std::abs(difference) <= 1e-9 ? "0" : value_text(difference);
}

std::string outcome_text(const CheckedClaim& checked) {
  if (checked.claim.kind == ClaimKind::kFormula) return "formula only";
  return checked.reached() ? "reached" : "**not reached**";
}

std::string remark(const CheckedClaim& checked) {
  std::vector<std::string> sentences;
  if (!checked.result.error.empty()) sentences.push_back(checked.result.error + ".");
  if (!checked.claim.note.empty()) sentences.push_back(checked.claim.note);
  if (!checked.claim.tolerance_reason.empty()) sentences.push_back(checked.claim.tolerance_reason);
  if (checked.claim.provenance == ClaimProvenance::kPrinted && checked.result.formula) {
    const std::string shown = checked.claim.command.empty() ? "" : " `" + checked.claim.formula + "`";
    sentences.push_back("The formula" + shown + " gives " + value_text(*checked.result.formula) + ".");
  }
  std::string text;
  for (const std::string& sentence : sentences) text += (text.empty() ? "" : " ") + sentence;
  return text;
}

/// Sources in the order of their first claim.
std::string sources(const System& system) {
  std::vector<std::string> all;
  for (const CheckedClaim* checked : system.claims) {
    if (std::find(all.begin(), all.end(), checked->claim.source) == all.end()) all.push_back(checked->claim.source);
  }
  std::string text;
  for (const std::string& source : all) text += (text.empty() ? "" : "; ") + source;
  return text;
}

std::string how(const Claim& claim) {
  if (claim.command.empty()) return "`" + claim.formula + "`";
  const std::string shown = claim.metric + " of `" + claim.command + "`";
  return claim.baseline.empty() ? shown : shown + " over `" + claim.baseline + "`";
}

/// "claims/zero-bubble.md" for "Zero Bubble".
std::string file_of(const System& system) {
  std::string file = "claims/";
  for (const char c : system.name) {
    const auto letter = static_cast<unsigned char>(c);
    file += std::isalnum(letter) != 0 ? static_cast<char>(std::tolower(letter)) : '-';
  }
  return file + ".md";
}

/// "60 of 72", or nothing where the system has no such claims.
std::string tally_text(const ClaimTally& tally) {
  return tally.claims == 0 ? "" : std::to_string(tally.reached) + " of " + std::to_string(tally.claims);
}

/// What a system's claims came to, by where their numbers are from.
struct SystemTally {
  ClaimTally printed;  ///< with a simulation or a training
  std::size_t formulas = 0;
  std::array<ClaimTally, kClaimProvenanceNames.size()> others;  ///< indexed by provenance
};

SystemTally tally_of(const System& system) {
  SystemTally tally;
  for (const CheckedClaim* checked : system.claims) {
    const Claim& claim = checked->claim;
    if (claim.kind == ClaimKind::kFormula) {
      ++tally.formulas;
    } else if (claim.provenance == ClaimProvenance::kPrinted) {
      tally.printed.add(*checked);
    } else {
      tally.others[static_cast<std::size_t>(claim.provenance)].add(*checked);
    }
  }
  return tally;
}

/// The cells of a system in the tables: printed, formula only, closed form, released code, replay.
std::vector<std::string> tally_cells(const SystemTally& tally) {
  std::vector<std::string> cells{tally_text(tally.printed), tally.formulas == 0 ? "" : std::to_string(tally.formulas)};
  for (std::size_t p = 1; p < tally.others.size(); ++p) cells.push_back(tally_text(tally.others[p]));
  return cells;
}

constexpr std::array<std::string_view, 5> kTallyColumns{"printed", "formula only", "closed form", "released code",
                                                        "replay"};

std::string tally_sentence(const SystemTally& tally) {
  const std::vector<std::string> cells = tally_cells(tally);
  std::string text = "Reached: ";
  bool first = true;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].empty()) continue;
    text += (first ? "" : "; ") + std::string(kTallyColumns[i]) + " " + cells[i];
    first = false;
  }
  return text + ".";
}

std::string system_markdown(const System& system) {
  std::string text = "# " + system.name + "\n\n" + sources(system) + "\n\n";
  text += tally_sentence(tally_of(system)) + " The [index](../README.md#published-numbers) explains the columns.\n\n";
  text += "| what | number from | expected | ours | difference | kind | result | how | remark |\n";
  text += "|---|---|---:|---:|---:|---|---|---|---|\n";
  for (const CheckedClaim* checked : system.claims) {
    const Claim& claim = checked->claim;
    text += "| " + markdown_cell(claim.what) + " | " + provenance_text(claim.provenance) + " | " +
            expected_text(claim) + " | " + ours_text(*checked) + " | " + difference_text(*checked) + " | " +
            std::string(kClaimKindNames[static_cast<std::size_t>(claim.kind)]) + " | " + outcome_text(*checked) +
            " | " + markdown_cell(how(claim)) + " | " + markdown_cell(remark(*checked)) + " |\n";
  }
  return text;
}

/// One line of the list of claims that were not reached, or not as the document expects.
std::string miss_text(const CheckedClaim& checked) {
  const Claim& claim = checked.claim;
  const std::string& why = checked.result.error.empty() ? claim.note : checked.result.error;
  const std::string compared = claim.kind == ClaimKind::kFormula && checked.result.formula
                                   ? "formula " + value_text(*checked.result.formula)
                                   : "ours " + ours_text(checked);
  return claim.id + ": " + provenance_text(claim.provenance) + " " + expected_text(claim) + ", " + compared +
         (why.empty() ? "" : "; " + why) +
         (checked.result.agrees && claim.expect_differs ? "; expected to differ, but does not" : "") + "\n";
}

std::string mean_text(const ClaimDeviation& deviation) {
  if (deviation.counted == 0) return "-";
  return std::abs(deviation.largest) <= 1e-9 ? "0" : fixed_text(100 * deviation.mean(), 2) + " %";
}

std::string largest_text(const ClaimDeviation& deviation) {
  if (deviation.counted == 0) return "-";
  const std::string text = deviation_text(deviation.largest);
  return text == "0" ? text : text + " (`" + deviation.farthest->claim.id + "`)";
}

/// Counts and deviations by provenance and kind.
std::string groups_markdown(const std::vector<CheckedClaim>& claims) {
  std::string text = "| number from | kind | claims | reached | mean deviation | largest deviation |\n";
  text += "|---|---|---:|---:|---:|---|\n";
  for (const ClaimGroup& group : claim_groups(claims)) {
    text += "| " + provenance_text(group.provenance) + " | " +
            std::string(kClaimKindNames[static_cast<std::size_t>(group.kind)]) + " | " +
            std::to_string(group.tally.claims) + " | " +
            (group.kind == ClaimKind::kFormula ? "-" : std::to_string(group.tally.reached)) + " | " +
            mean_text(group.tally.deviation) + " | " + largest_text(group.tally.deviation) + " |\n";
  }
  return text;
}

}  // namespace

std::string claims_text(const std::vector<CheckedClaim>& claims) {
  std::vector<TextTable::Column> columns{{"system"}};
  for (const std::string_view column : kTallyColumns) columns.push_back({std::string(column), '>'});
  columns.push_back({"source"});
  TextTable table(std::move(columns));
  std::string misses;
  for (const System& system : by_system(claims)) {
    std::vector<std::string> row{system.name};
    for (std::string& cell : tally_cells(tally_of(system))) row.push_back(std::move(cell));
    row.push_back(first_clause(sources(system)));
    table.add_row(std::move(row));
    for (const CheckedClaim* checked : system.claims) {
      if (!checked->reached() || checked->result.is_surprise(checked->claim)) misses += miss_text(*checked);
    }
  }
  return claims_headline(claims) + "\n" + table.to_string() +
         (misses.empty() ? "" : "\nnot reached, or not as expected\n" + misses);
}

std::string claims_json(const std::vector<CheckedClaim>& claims) {
  using Json = nlohmann::ordered_json;
  Json rows = Json::array();
  for (const CheckedClaim& checked : claims) {
    const Claim& claim = checked.claim;
    Json row{{"id", claim.id},
             {"system", claim.system},
             {"source", claim.source},
             {"what", claim.what},
             {"provenance", kClaimProvenanceNames[static_cast<std::size_t>(claim.provenance)]},
             {"kind", kClaimKindNames[static_cast<std::size_t>(claim.kind)]},
             {"command", claim.command},
             {"metric", claim.metric},
             {"expected", claim.expected},
             {"tolerance", claim.tolerance},
             {"ours", nullptr},
             {"reached", checked.reached()},
             {"note", claim.note}};
    if (!claim.baseline.empty()) row["baseline"] = claim.baseline;
    if (!claim.printed.empty()) row["printed"] = claim.printed;
    if (!claim.tolerance_reason.empty()) row["tolerance_reason"] = claim.tolerance_reason;
    if (claim.bound != ClaimBound::kNone) row["bound"] = kClaimBoundNames[static_cast<std::size_t>(claim.bound)];
    if (!claim.formula.empty()) row["formula"] = claim.formula;
    if (checked.result.ours) row["ours"] = *checked.result.ours;
    if (checked.result.formula) row["formula_value"] = *checked.result.formula;
    if (!checked.result.error.empty()) row["error"] = checked.result.error;
    rows.push_back(std::move(row));
  }
  const Json document{{"format", "plumbline-claim-results"}, {"version", 2}, {"claims", std::move(rows)}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string claims_index_markdown(const std::vector<CheckedClaim>& claims) {
  std::string text = claims_headline(claims) + "\n" + groups_markdown(claims) + "\n| system |";
  for (const std::string_view column : kTallyColumns) text += " " + std::string(column) + " |";
  text += "\n|---|";
  for (std::size_t i = 0; i < kTallyColumns.size(); ++i) text += "---:|";
  text += "\n";
  for (const System& system : by_system(claims)) {
    text += "| [" + markdown_cell(system.name) + "](" + file_of(system) + ") |";
    for (const std::string& cell : tally_cells(tally_of(system))) text += " " + (cell.empty() ? "-" : cell) + " |";
    text += "\n";
  }
  return text;
}

std::vector<ClaimsPage> claims_pages(const std::vector<CheckedClaim>& claims) {
  std::vector<ClaimsPage> pages;
  for (const System& system : by_system(claims)) pages.push_back({file_of(system), system_markdown(system)});
  return pages;
}

std::string page_with_claims(const std::string& page, const std::string& markdown, const std::string& page_name) {
  static constexpr std::string_view kBegin = "<!-- claims -->\n";
  static constexpr std::string_view kEnd = "<!-- end of claims -->";
  const std::size_t begin = page.find(kBegin);
  const std::size_t end = page.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    throw Error(page_name + ": expected the lines <!-- claims --> and <!-- end of claims -->");
  }
  return page.substr(0, begin + kBegin.size()) + markdown + page.substr(end);
}

}  // namespace plumb
