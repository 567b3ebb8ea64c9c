#include "tools/tables/what_if.hpp"

#include "models/ground/error.hpp"
#include "sim/critical_path.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

constexpr const char* kWhatIfOption = "--what-if";

}  // namespace

WhatIf parse_what_if(std::string_view text) {
  const auto [kind, factor] = parse_assignment(text, kWhatIfOption);
  const WhatIf what{kind, parse_real(factor, kWhatIfOption)};
  if (what.factor >= 0) return what;
  throw Error(std::string(kWhatIfOption) + ": '" + std::string(text) +
              "' is negative, expected a factor such as W=0.9");
}

std::string what_if_text(const Program& program, const SimOptions& options, Ticks makespan,
                         const std::vector<WhatIf>& changes) {
  TextTable table({{"what if"}, {"makespan", '>'}, {"change", '>'}, {"", '>'}});
  for (const WhatIf& what : changes) {
    const Ticks changed = makespan_if(program, options, what.kind, what.factor);
    const double share = makespan == 0 ? 0 : static_cast<double>(changed - makespan) / static_cast<double>(makespan);
    table.add_row({what.kind + " takes " + number_text(what.factor) + " of its time",
                   time_text(to_ns(changed, program.base)), time_text(to_ns(changed - makespan, program.base)),
                   fixed_text(100 * share, 2) + " %"});
  }
  return table.to_string();
}

}  // namespace plumb
