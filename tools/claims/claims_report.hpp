#pragma once

#include <string>
#include <vector>

#include "tools/claims/claims.hpp"

namespace plumb {

/// A claim and its result.
struct CheckedClaim {
  Claim claim;
  ClaimResult result;
};

/// Text for a terminal: a line per system, then every claim that was not reached, with the reason.
std::string claims_text(const std::vector<CheckedClaim>& claims);

/// The results as JSON.
std::string claims_json(const std::vector<CheckedClaim>& claims);

/// Markdown: a table of the systems, then one of the claims of each.
std::string claims_markdown(const std::vector<CheckedClaim>& claims);

/// `page` with what stands between the lines `<!-- claims -->` and `<!-- end of claims -->` replaced by `markdown`.
/// Throws `Error` when it has no such lines.
std::string page_with_claims(const std::string& page, const std::string& markdown, const std::string& page_name);

}  // namespace plumb
