#pragma once

#include <string>

#include "tools/report_html.hpp"

namespace plumb {

/// What the report page shows, as JSON for `decode` in tools/page/data.js, which is its only reader.
///
/// Spans are columns of small integers per row of the picture: starts as differences, actions as indices into a table
/// of those that differ in more than the microbatch. `<` is written as an escape, so that the text may stand in HTML.
std::string page_data(const HtmlReport& report);

}  // namespace plumb
