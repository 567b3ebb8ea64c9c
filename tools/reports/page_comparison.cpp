#include "sim/comparison/compare.hpp"
#include "tools/reports/page_data.hpp"

namespace plumb {

std::string section_comparison(const HtmlSection& section) {
  if (section.comparison) return comparison_to_json(*section.comparison);
  return comparison_to_json(compare(*section.first, *section.second));
}

}  // namespace plumb
