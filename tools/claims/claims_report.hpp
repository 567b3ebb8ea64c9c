#pragma once

#include <string>
#include <vector>

#include "tools/claims/claims.hpp"

namespace plumb {

/// Text for a terminal: the headline, a line per system, then every claim that was not reached, with the reason.
std::string claims_text(const std::vector<CheckedClaim>& claims);

/// The results as JSON.
std::string claims_json(const std::vector<CheckedClaim>& claims);

/// For readers: the headline, a table by provenance and kind, and one of the systems with links to their pages.
std::string claims_index_markdown(const std::vector<CheckedClaim>& claims);

/// A page of the report, to be written beside the index as `file`.
struct ClaimsPage {
  std::string file;  ///< "claims/zero-bubble.md"
  std::string markdown;
};

/// A page for every system, with a table of its claims.
std::vector<ClaimsPage> claims_pages(const std::vector<CheckedClaim>& claims);

/// `page` with what stands between the lines `<!-- claims -->` and `<!-- end of claims -->` replaced by `markdown`.
/// Throws `Error` when it has no such lines.
std::string page_with_claims(const std::string& page, const std::string& markdown, const std::string& page_name);

}  // namespace plumb
