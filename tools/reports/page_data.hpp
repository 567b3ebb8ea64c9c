#pragma once

#include <string>

#include "tools/reports/page_content.hpp"

namespace plumb {

/// Returns what the report page shows, as JSON for `decode` in tools/page/data.js, which is its only reader.
///
/// Spans are columns of small integers per row of the picture: starts as differences, actions as indices into a table
/// of those that differ in more than the microbatch. The text is `safe_in_html`.
std::string page_data(const HtmlReport& report);

/// Returns the comparison of a section with two runs, as `compare --json` writes it.
std::string section_comparison(const HtmlSection& section);

/// JSON that may stand between tags: `<` is written as an escape.
std::string safe_in_html(const std::string& json);

}  // namespace plumb
