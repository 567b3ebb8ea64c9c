#include "tools/sweep/sweep_text.hpp"

#include <algorithm>

#include "models/ground/error.hpp"
#include "tools/options/order_arguments.hpp"
#include "tools/sweep/sweep_pareto.hpp"
#include "tools/sweep/sweep_table.hpp"

namespace plumb {
namespace {

/// Whether updates follow each other faster than devices work for one in the mean.
bool ends_without_next_work(const SweepResult& result) {
  if (!result.figures) return false;
  const SweepFigures& figures = *result.figures;
  const double work = (1 - figures.bubble_fraction) * figures.makespan_ns / static_cast<double>(figures.updates);
  return figures.step_time_ns < 0.999 * work;
}

/// The schedules of which a step time is below the work of an update.
std::string short_runs_text(const std::vector<SweepResult>& results) {
  std::string names;
  for (const SweepResult& result : results) {
    const std::string& name = result.point.schedule;
    if (!ends_without_next_work(result) || (", " + names + ",").find(", " + name + ",") != std::string::npos) continue;
    names += (names.empty() ? "" : ", ") + name;
  }
  if (names.empty()) return "";
  return "\nstep times below the work of an update, because no work follows the last ones: " + names +
         "\n(utilization is that of the steady state; --updates makes runs longer)\n";
}

}  // namespace

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
  std::string text = results.size() <= kMostRows
                         ? sweep_table(results)
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
  text += short_runs_text(results);
  if (!results.front().stands_on.empty()) text += "\n" + results.front().stands_on + "\n";
  return text;
}

}  // namespace plumb
