#include "tools/sweep/sweep_text.hpp"

#include <algorithm>

#include "models/ground/error.hpp"
#include "tools/options/order_options.hpp"
#include "tools/sweep/sweep_pareto.hpp"
#include "tools/sweep/sweep_table.hpp"

namespace plumb {
void check_sweep(const std::vector<SweepResult>& results) {
  const auto failed = [](const SweepResult& result) { return !result.figures; };
  if (std::ranges::all_of(results, failed)) {
    if (results.front().cannot_run) throw CannotRun(results.front().error);
    throw Error(results.front().error);
  }
  if (std::ranges::any_of(results, &SweepResult::decided_without_contention)) note_order_without_contention();
}

std::string sweep_text(const std::vector<SweepResult>& results) {
  constexpr std::size_t kMostRows = 60;
  std::string text;
  if (!have_equal_work(results)) {
    text =
        "These schedules do unequal work (costs per stage, or of a head that only some have):\n"
        "the best choices compare only those that do the same.\n\n";
  }
  text += results.size() <= kMostRows ? sweep_table(results)
                                      : std::to_string(results.size()) + " simulations; --csv FILE has them all\n";
  const bool jobs = std::ranges::any_of(results, [](const SweepResult& result) { return result.point.job.any(); });
  const bool fits = std::ranges::any_of(results, [](const SweepResult& each) { return each.figures && each.fits; });
  if (results.size() > 1 && fits) {
    text += std::string("\nbest choices, from least memory to ") + (jobs ? "shortest step\n" : "least bubble\n") +
            pareto_table(results);
  }
  const bool counted = std::ranges::any_of(
      results, [](const SweepResult& each) { return each.figures && each.figures->peak_memory_bytes == 0; });
  if (counted) {
    text +=
        "\nstash: what a device keeps of one microbatch for 1/p of the network, from its forward to its backward\n"
        "       (with --memory: a unit of that)\n";
  }
  if (!results.front().stands_on.empty()) text += "\n" + results.front().stands_on + "\n";
  return text;
}

}  // namespace plumb
