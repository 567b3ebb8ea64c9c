#include "tools/sweep/sweep_plot.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "tools/sweep/sweep_pareto.hpp"

namespace plumb {
namespace {

constexpr double kPlottedGib = 1024.0 * 1024 * 1024;

/// What is drawn of a point: memory, slowness.
class PlottedPoints {
 public:
  explicit PlottedPoints(const std::vector<SweepResult>& results) : results_(results) {
    for (const SweepResult& result : results) {
      if (!result.figures) continue;
      jobs_ = jobs_ || result.point.job.any();
      bytes_ = bytes_ || result.figures->peak_memory_bytes > 0;
    }
  }

  PlotAxis memory_axis() const {
    return {.title = bytes_ ? "peak memory of the fullest device, GiB" : "peak stashes of 1/p of the model"};
  }
  PlotAxis slowness_axis() const { return {.title = jobs_ ? "step time, ms" : "bubble, %"}; }

  std::pair<double, double> at(std::size_t i) const {
    const SweepFigures& figures = *results_[i].figures;
    return {bytes_ ? static_cast<double>(figures.peak_memory_bytes) / kPlottedGib : figures.peak_device_stashes,
            jobs_ ? figures.step_time_ns / 1e6 : 100 * figures.bubble_fraction};
  }

 private:
  const std::vector<SweepResult>& results_;
  bool jobs_ = false;
  bool bytes_ = false;
};

/// A dashed line per problem through its best choices, whose names stand beside them.
void add_fronts(const std::vector<SweepResult>& results, const PlottedPoints& points, Plot& plot) {
  constexpr std::size_t kFirstColour = 5;
  std::size_t fronts = 0;
  std::string_view semantics;
  for (const std::size_t i : pareto_points(results)) {
    const auto [memory, slowness] = points.at(i);
    const bool goes_on = fronts > 0 && results[i].semantics == semantics && memory >= plot.series.back().x.back() &&
                         slowness <= plot.series.back().y.back();
    semantics = results[i].semantics;
    if (!goes_on) {
      plot.series.push_back({.name = "best, " + std::string(semantics),
                             .x = {},
                             .y = {},
                             .colour = kFirstColour + fronts++,
                             .dashed = true,
                             .points = true});
    }
    plot.series.back().x.push_back(memory);
    plot.series.back().y.push_back(slowness);
    plot.marks.push_back({memory, slowness, results[i].point.schedule});
  }
}

}  // namespace

Plot sweep_plot(const std::vector<SweepResult>& results) {
  const PlottedPoints points(results);
  std::map<std::string, std::vector<std::pair<double, double>>> by_schedule;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].figures) by_schedule[results[i].point.schedule].push_back(points.at(i));
  }
  Plot plot{.title = "What every choice costs",
            .note = "a dot per simulation; lines join those of a problem that no other beats in both",
            .x = points.memory_axis(),
            .y = points.slowness_axis(),
            .series = {},
            .marks = {}};
  constexpr std::size_t kMostNamed = 10;
  PlotSeries all{.name = "simulations", .x = {}, .y = {}, .points = true, .line = false};
  std::vector<std::pair<double, double>> dots;
  for (auto& [name, own] : by_schedule) {
    std::ranges::sort(own);
    dots.insert(dots.end(), own.begin(), own.end());
    if (by_schedule.size() > kMostNamed) continue;
    PlotSeries series{.name = name, .x = {}, .y = {}, .colour = plot.series.size(), .points = true, .line = false};
    for (const auto& [memory, slowness] : own) series.x.push_back(memory), series.y.push_back(slowness);
    plot.series.push_back(std::move(series));
  }
  if (by_schedule.size() > kMostNamed) {
    std::ranges::sort(dots);
    for (const auto& [memory, slowness] : dots) all.x.push_back(memory), all.y.push_back(slowness);
    plot.series.push_back(std::move(all));
  }
  add_fronts(results, points, plot);
  return plot;
}

}  // namespace plumb
