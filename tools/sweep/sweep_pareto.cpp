#include "tools/sweep/sweep_pareto.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "tools/options/plan_runtimes.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

/// Devices and samples in all, costs, kind of updates, and the work of a microbatch.
using Problem =
    std::tuple<std::int64_t, std::int64_t, std::string, std::string_view, std::pair<std::int64_t, std::int64_t>>;

Problem problem_of(const SweepResult& result) {
  const SweepPoint& point = result.point;
  return {point.params.num_devices * point.job.devices_per_stage(),
          point.params.num_microbatches * point.job.samples_per_microbatch(),
          point.cost,
          result.semantics,
          {result.work.numerator, result.work.denominator}};
}

/// Bytes where they are known, comparable stashes otherwise.
double memory_of(const SweepFigures& figures) {
  const std::int64_t bytes = memory_bytes(figures);
  return bytes > 0 ? static_cast<double>(bytes) : figures.peak_device_stashes;
}

/// Pipelines of the same stages are compared by their bubble; stages spread unlike take unlike times themselves.
double slowness_of(const SweepResult& result) {
  return result.point.job.any() ? result.figures->step_time_ns : result.figures->bubble_fraction;
}

std::string memory_text(const SweepFigures& figures) {
  if (memory_bytes(figures) > 0) return bytes_text(memory_bytes(figures));
  return number_text(figures.peak_device_stashes) + (figures.peak_device_stashes == 1 ? " stash" : " stashes");
}

}  // namespace

std::vector<std::vector<std::size_t>> pareto_fronts(const std::vector<SweepResult>& results) {
  std::map<Problem, std::vector<std::size_t>> problems;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].figures && results[i].fits) problems[problem_of(results[i])].push_back(i);
  }
  std::vector<std::vector<std::size_t>> fronts;
  for (auto& [problem, points] : problems) {
    std::vector<std::size_t>& best = fronts.emplace_back();
    const auto key = [&](std::size_t at) {
      return std::tuple(memory_of(*results[at].figures), slowness_of(results[at]), at);
    };
    std::sort(points.begin(), points.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    double least = std::numeric_limits<double>::max();
    for (const std::size_t at : points) {
      if (slowness_of(results[at]) >= least) continue;
      least = slowness_of(results[at]);
      best.push_back(at);
    }
  }
  return fronts;
}

bool have_equal_work(const std::vector<SweepResult>& results) {
  std::map<std::tuple<std::int64_t, std::string, std::string_view>, Rational> works;
  return std::ranges::all_of(results, [&](const SweepResult& result) {
    if (!result.figures) return true;
    const SweepPoint& point = result.point;
    return works.try_emplace({point.params.num_devices, point.cost, result.semantics}, result.work).first->second ==
           result.work;
  });
}

std::string pareto_table(const std::vector<SweepResult>& results) {
  const bool jobs = std::ranges::any_of(results, [](const SweepResult& result) { return result.point.job.any(); });
  const bool equal = have_equal_work(results);
  TextTable table({{"p", '>'},
                   {"m", '>'},
                   {jobs ? "job" : "cost"},
                   {"updates"},
                   {"schedule"},
                   {"v", '>'},
                   {"work", '>'},
                   {"limit", '>'},
                   {"peak memory", '>'},
                   {"bubble", '>'},
                   {"step time", '>'},
                   {"runs in"}});
  const auto add = [&](std::size_t at) {
    const SweepResult& result = results[at];
    const SweepPoint& point = result.point;
    const SweepFigures& figures = *result.figures;
    table.add_row({std::to_string(point.params.num_devices), std::to_string(point.params.num_microbatches),
                   jobs ? point.job.text() : (point.cost.empty() ? "-" : point.cost), std::string(result.semantics),
                   point.schedule, std::to_string(point.params.chunks),
                   equal ? "-" : time_text(result.work.numerator / result.work.denominator),
                   point.memory_limit.empty() ? "-" : point.memory_limit, memory_text(figures),
                   fixed_text(100 * figures.bubble_fraction, 2) + " %",
                   time_text(static_cast<std::int64_t>(figures.step_time_ns)), runs_in(point.schedule)});
  };
  for (const std::vector<std::size_t>& front : pareto_fronts(results)) std::ranges::for_each(front, add);
  table.leave_out_empty_columns();
  return table.to_string();
}

}  // namespace plumb
