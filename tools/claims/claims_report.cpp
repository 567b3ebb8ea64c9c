#include "tools/claims/claims_report.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include <nlohmann/json.hpp>

#include "models/ground/error.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

/// The claims of one system, in the order of the document.
struct System {
  std::string name;
  std::vector<const CheckedClaim*> claims;

  std::size_t reproduced() const {
    return static_cast<std::size_t>(
        std::count_if(claims.begin(), claims.end(), [](const CheckedClaim* c) { return c->result.reached; }));
  }
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

std::string ours_text(const CheckedClaim& checked) {
  const ClaimResult& result = checked.result;
  if (!result.ours) return "-";
  std::string text = value_text(*result.ours);
  const bool beside = !checked.claim.formula.empty() && result.simulated;
  return beside ? text + " (simulated " + value_text(*result.simulated) + ")" : text;
}

/// The kind, and how far ours may be where that is more than the last digits of a computation.
std::string kind_text(const Claim& claim) {
  constexpr double kDigits = 1e-6;
  const std::string kind(kClaimKindNames[static_cast<std::size_t>(claim.kind)]);
  const bool told = claim.tolerance > kDigits * std::max(1.0, std::abs(claim.published));
  return told ? kind + " ± " + value_text(claim.tolerance) : kind;
}

std::string difference_text(const CheckedClaim& checked) {
  const ClaimResult& result = checked.result;
  if (!result.ours) return "-";
  const double difference = *result.ours - checked.claim.published;
  // Last digits of a training depend on the processor.
  if (checked.claim.kind == ClaimKind::kTrained && result.reached) return "within tolerance";
  if (std::abs(difference) <= 1e-9 * std::max(1.0, std::abs(checked.claim.published))) return "0";
  if (checked.claim.published == 0) return value_text(difference);
  const double share = 100 * difference / std::abs(checked.claim.published);
  if (std::abs(share) < 0.005) return "< 0.01 %";
  return (share > 0 ? "+" : "-") + fixed_text(std::abs(share), 2) + " %";
}

std::string remark(const CheckedClaim& checked) {
  std::string text = checked.result.error.empty() ? checked.claim.note : checked.result.error;
  if (!checked.result.error.empty() && !checked.claim.note.empty()) text += "; " + checked.claim.note;
  if (!checked.result.reached) text = "**not reproduced**" + (text.empty() ? text : ": " + text);
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

std::string system_markdown(const System& system) {
  std::string text = "# " + system.name + "\n\n" + sources(system) + "\n\n";
  text += std::to_string(system.reproduced()) + " of " + std::to_string(system.claims.size()) +
          " published numbers are reproduced within their tolerance. The [index](../README.md#published-numbers) "
          "explains the columns.\n\n";
  text += "| what | published | ours | difference | kind | how | remark |\n|---|---:|---:|---:|---|---|---|\n";
  for (const CheckedClaim* checked : system.claims) {
    const Claim& claim = checked->claim;
    text += "| " + markdown_cell(claim.what) + " | " + value_text(claim.published) + " | " + ours_text(*checked) +
            " | " + difference_text(*checked) + " | " + kind_text(claim) + " | " + markdown_cell(how(claim)) + " | " +
            markdown_cell(remark(*checked)) + " |\n";
  }
  return text;
}

}  // namespace

std::string claims_text(const std::vector<CheckedClaim>& claims) {
  TextTable table({{"system"}, {"published numbers", '>'}, {"reproduced", '>'}, {"source"}});
  std::string misses;
  for (const System& system : by_system(claims)) {
    table.add_row({system.name, std::to_string(system.claims.size()), std::to_string(system.reproduced()),
                   first_clause(sources(system))});
    for (const CheckedClaim* checked : system.claims) {
      if (checked->result.reached && !checked->result.is_surprise(checked->claim)) continue;
      const std::string& why = checked->result.error.empty() ? checked->claim.note : checked->result.error;
      misses += checked->claim.id + ": published " + value_text(checked->claim.published) + ", ours " +
                ours_text(*checked) + (why.empty() ? "" : "; " + why) +
                (checked->result.reached ? "; expected to differ, but does not" : "") + "\n";
    }
  }
  return table.to_string() + (misses.empty() ? "" : "\nnot reproduced, or not as expected\n" + misses);
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
             {"kind", kClaimKindNames[static_cast<std::size_t>(claim.kind)]},
             {"command", claim.command},
             {"metric", claim.metric},
             {"published", claim.published},
             {"tolerance", claim.tolerance},
             {"ours", nullptr},
             {"reached", checked.result.reached},
             {"note", claim.note}};
    if (!claim.baseline.empty()) row["baseline"] = claim.baseline;
    if (!claim.formula.empty()) row["formula"] = claim.formula;
    if (checked.result.ours) row["ours"] = *checked.result.ours;
    if (checked.result.simulated) row["simulated"] = *checked.result.simulated;
    if (!checked.result.error.empty()) row["error"] = checked.result.error;
    rows.push_back(std::move(row));
  }
  const Json document{{"format", "plumbline-claim-results"}, {"version", 1}, {"claims", std::move(rows)}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string claims_index_markdown(const std::vector<CheckedClaim>& claims) {
  const std::vector<System> systems = by_system(claims);
  std::size_t reproduced = 0;
  for (const System& system : systems) reproduced += system.reproduced();
  std::string text =
      std::to_string(reproduced) + " of " + std::to_string(claims.size()) + " published numbers of " +
      std::to_string(systems.size()) +
      " systems are reproduced within their tolerance. The pages say why each of the others differs.\n\n";
  text += "| system | published numbers | reproduced |\n|---|---:|---:|\n";
  for (const System& system : systems) {
    text += "| [" + markdown_cell(system.name) + "](" + file_of(system) + ") | " +
            std::to_string(system.claims.size()) + " | " + std::to_string(system.reproduced()) + " |\n";
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
