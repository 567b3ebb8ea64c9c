#include "tools/claims/claims.hpp"

#include <algorithm>
#include <set>

#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"
#include "tools/claims/expression.hpp"
#include "tools/claims/printed_number.hpp"

namespace plumb {
namespace {

std::string text_or_empty(const JsonValue& object, std::string_view key) {
  const auto found = object.find(key);
  return found ? std::string(found->text()) : std::string{};
}

bool flag(const JsonValue& object, std::string_view key) {
  const auto found = object.find(key);
  return found && found->boolean();
}

/// The value of an enumeration by its name in `names`.
template <class Enumeration, std::size_t n>
Enumeration named(const JsonValue& value, const std::array<std::string_view, n>& names, std::string_view expected) {
  const auto found = std::find(names.begin(), names.end(), value.text());
  if (found == names.end() || found->empty()) value.fail_expected(expected);
  return static_cast<Enumeration>(found - names.begin());
}

/// The key that holds the number, by its provenance; no claim has two of them.
std::string_view number_key(ClaimProvenance provenance) {
  if (provenance == ClaimProvenance::kPrinted) return "printed";
  return provenance == ClaimProvenance::kClosedForm ? "formula" : "expected";
}

void read_printed(Claim& claim, const JsonValue& digits) {
  const std::optional<PrintedNumber> number = printed_number(digits.text());
  if (!number) digits.fail_expected("digits as they were printed, such as \"0.2431\" or \"12.9/11.8\"");
  claim.printed = digits.text();
  claim.expected = number->value;
  claim.tolerance = number->tolerance;
}

/// The number to be reached, and how far ours may be from it.
void read_expected(Claim& claim, const JsonValue& object) {
  const std::string_view key = number_key(claim.provenance);
  if (key == "formula" && !object.find(key) && object.find("expected")) {
    object.at("expected").fail("is how an earlier program wrote a closed form; expected its 'formula' instead");
  }
  const JsonValue number = object.at(key);
  if ((key != "printed" && object.find("printed")) || (key != "expected" && object.find("expected"))) {
    object.fail(
        "expected the number as 'printed' where that is the provenance, as 'formula' where it is closed_form, "
        "and as 'expected' elsewhere");
  }
  if (key == "printed") read_printed(claim, number);
  if (key == "formula") claim.expected = evaluate_expression(number.text(), number.where());
  if (key == "expected") claim.expected = number.number();
  claim.tolerance_reason = text_or_empty(object, "tolerance_reason");
  const auto tolerance = object.find("tolerance");
  if (tolerance) claim.tolerance = tolerance->number(0);
  if (tolerance.has_value() == claim.tolerance_reason.empty()) {
    object.fail("expected a tolerance and a tolerance_reason together, or neither (the digits decide)");
  }
  if (const auto bound = object.find("bound")) {
    claim.bound = named<ClaimBound>(*bound, kClaimBoundNames, "at_least or at_most");
  }
}

void check(const Claim& claim, const JsonValue& object) {
  const std::vector<std::string_view> metrics = claim_metrics();
  if (!claim.command.empty() && std::find(metrics.begin(), metrics.end(), claim.metric) == metrics.end()) {
    throw_unknown(object.at("metric").where() + ": metric", claim.metric, metrics);
  }
  const bool is_formula = claim.kind == ClaimKind::kFormula;
  if (is_formula && claim.formula.empty()) object.fail("expected a formula where the kind is formula");
  if (is_formula != claim.command.empty()) object.fail("expected a command, except where the kind is formula");
  if (claim.expect_differs && claim.note.empty()) object.fail("expected a note that says why it differs");
}

Claim read_claim(const JsonValue& object) {
  object.allow_only({"id", "system", "source", "what", "provenance", "kind", "command", "baseline", "metric", "formula",
                     "printed", "expected", "tolerance", "tolerance_reason", "bound", "note", "differs", "long"});
  Claim claim;
  claim.id = object.at("id").text();
  claim.system = object.at("system").text();
  claim.source = object.at("source").text();
  claim.what = object.at("what").text();
  claim.provenance = named<ClaimProvenance>(object.at("provenance"), kClaimProvenanceNames,
                                            "printed, closed_form, released_code or replay");
  claim.kind = named<ClaimKind>(object.at("kind"), kClaimKindNames, "exact, formula, modelled or trained");
  claim.command = text_or_empty(object, "command");
  claim.baseline = text_or_empty(object, "baseline");
  claim.metric = text_or_empty(object, "metric");
  claim.formula = text_or_empty(object, "formula");
  read_expected(claim, object);
  claim.note = text_or_empty(object, "note");
  claim.expect_differs = flag(object, "differs");
  claim.is_long = flag(object, "long");
  check(claim, object);
  return claim;
}

}  // namespace

std::vector<Claim> claims_from_json(std::string text, const std::string& file_name) {
  const JsonDocument document(std::move(text), file_name);
  const JsonValue root = document.root();
  root.allow_only({"format", "version", "claims"});
  check_format(root, "plumbline-claims", 2);
  std::vector<Claim> claims;
  std::set<std::string> ids;
  for (const JsonValue& object : root.at("claims").elements()) {
    claims.push_back(read_claim(object));
    if (!ids.insert(claims.back().id).second) object.at("id").fail("is taken, expected an id of its own");
  }
  return claims;
}

}  // namespace plumb
