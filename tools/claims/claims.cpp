#include "tools/claims/claims.hpp"

#include <algorithm>
#include <set>

#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"

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

ClaimKind kind_of(const JsonValue& value) {
  const auto found = std::find(kClaimKindNames.begin(), kClaimKindNames.end(), value.text());
  if (found == kClaimKindNames.end()) value.fail_expected("exact, formula, modelled or trained");
  return static_cast<ClaimKind>(found - kClaimKindNames.begin());
}

void check(const Claim& claim, const JsonValue& object) {
  const std::vector<std::string_view> metrics = claim_metrics();
  if (!claim.command.empty() && std::find(metrics.begin(), metrics.end(), claim.metric) == metrics.end()) {
    throw_unknown(object.at("metric").where() + ": metric", claim.metric, metrics);
  }
  if ((claim.kind == ClaimKind::kFormula) == claim.formula.empty()) {
    object.fail("expected a formula where the kind is formula, and only there");
  }
  if (claim.command.empty() && claim.formula.empty()) object.fail("expected a command or a formula");
  if (claim.expect_differs && claim.note.empty()) object.fail("expected a note that says why it differs");
}

Claim read_claim(const JsonValue& object) {
  object.allow_only({"id", "system", "source", "what", "kind", "command", "baseline", "metric", "formula", "published",
                     "tolerance", "note", "differs", "long"});
  Claim claim;
  claim.id = object.at("id").text();
  claim.system = object.at("system").text();
  claim.source = object.at("source").text();
  claim.what = object.at("what").text();
  claim.kind = kind_of(object.at("kind"));
  claim.command = text_or_empty(object, "command");
  claim.baseline = text_or_empty(object, "baseline");
  claim.metric = text_or_empty(object, "metric");
  claim.formula = text_or_empty(object, "formula");
  claim.published = object.at("published").number();
  claim.tolerance = object.at("tolerance").number(0);
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
  check_format(root, "plumbline-claims", 1);
  std::vector<Claim> claims;
  std::set<std::string> ids;
  for (const JsonValue& object : root.at("claims").elements()) {
    claims.push_back(read_claim(object));
    if (!ids.insert(claims.back().id).second) object.at("id").fail("is taken, expected an id of its own");
  }
  return claims;
}

}  // namespace plumb
