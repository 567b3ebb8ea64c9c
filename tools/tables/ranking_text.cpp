#include "tools/tables/ranking_text.hpp"

#include <cmath>

#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {

std::string ranking_text(const Ranking& ranking) {
  const auto ns = [](double time) { return time_text(std::llround(time)); };
  TextTable table({{"configuration"},
                   {"predicted", '>'},
                   {"measured", '>'},
                   {"95 % interval", '>'},
                   {"steps", '>'},
                   {"outliers", '>'},
                   {"error", '>'},
                   {"largest error", '>'},
                   {"idle share error", '>'}});
  for (const RankedRun& run : ranking.runs) {
    table.add_row({run.name, ns(run.predicted_ns), ns(run.measured_ns.value),
                   ns(run.measured_ns.low) + " - " + ns(run.measured_ns.high), std::to_string(run.steps),
                   std::to_string(run.strays), (run.error > 0 ? "+" : "") + share_text(run.error),
                   share_text(run.most_error), share_text(run.idle_error)});
  }
  return table.to_string() + "\npairs in the predicted order: " + std::to_string(ranking.compared - ranking.wrong) +
         " of " + std::to_string(ranking.compared) + "\n";
}

}  // namespace plumb
