#include "tools/sweep/sweep_text.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "models/ground/error.hpp"
#include "tools/options/run_options.hpp"
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

namespace {

constexpr double kPlottedGib = 1024.0 * 1024 * 1024;

/// A dot of the diagram.
struct Dot {
  double memory = 0;
  double slowness = 0;
  std::string name;
  std::string link;  ///< to its timeline on the same page; empty where the page has none
};

/// What is drawn of a point: memory, slowness.
class PlottedPoints {
 public:
  explicit PlottedPoints(const std::vector<SweepResult>& results) : results_(results) {
    std::size_t section = 0;
    for (const SweepResult& result : results) {
      links_.push_back(result.timeline ? "#section-" + std::to_string(section++) : "");
      if (!result.figures) continue;
      jobs_ = jobs_ || result.point.job.any();
      bytes_ = bytes_ || memory_bytes(*result.figures) > 0;
    }
  }

  PlotAxis memory_axis() const {
    return {.title = bytes_ ? "memory that the fullest device needs, GiB"
                            : "peak of the fullest device, in activations of 1/p of the model"};
  }
  PlotAxis slowness_axis() const { return {.title = jobs_ ? "step time, ms" : "bubble, %"}; }

  Dot at(std::size_t i) const {
    const SweepFigures& figures = *results_[i].figures;
    return {.memory = bytes_ ? static_cast<double>(memory_bytes(figures)) / kPlottedGib : figures.peak_device_stashes,
            .slowness = jobs_ ? figures.step_time_ns / 1e6 : 100 * figures.bubble_fraction,
            .name = sweep_title(results_[i].point),
            .link = links_[i]};
  }

 private:
  const std::vector<SweepResult>& results_;
  std::vector<std::string> links_;
  bool jobs_ = false;
  bool bytes_ = false;
};

/// What tells a front from the others: its devices and microbatches, its job or costs where they differ, its updates.
std::string front_name(const SweepResult& of, bool several_costs) {
  const SweepPoint& point = of.point;
  std::string name =
      "p " + std::to_string(point.params.num_devices) + ", m " + std::to_string(point.params.num_microbatches);
  if (several_costs && !point.cost.empty()) name += ", " + point.cost;
  return of.semantics == "synchronous" ? name : name + ", " + std::string(of.semantics);
}

/// A series of the points, in the order of their memory.
PlotSeries series_of(std::string name, std::vector<Dot> at, std::size_t colour, bool line) {
  std::ranges::sort(
      at, [](const Dot& a, const Dot& b) { return std::pair(a.memory, a.slowness) < std::pair(b.memory, b.slowness); });
  const bool linked = std::ranges::any_of(at, [](const Dot& dot) { return !dot.link.empty(); });
  PlotSeries series{
      .name = std::move(name), .x = {}, .y = {}, .colour = colour, .dashed = line, .points = true, .line = line};
  for (Dot& dot : at) {
    series.x.push_back(dot.memory);
    series.y.push_back(dot.slowness);
    series.names.push_back(std::move(dot.name));
    if (linked) series.links.push_back(std::move(dot.link));
  }
  return series;
}

/// A dashed line per problem through its best choices, whose names stand beside them; of many problems only the dots.
void add_fronts(const std::vector<SweepResult>& results, const PlottedPoints& points, Plot& plot) {
  constexpr std::size_t kMostLines = 8;
  const std::vector<std::vector<std::size_t>> fronts = pareto_fronts(results);
  const auto other_cost = [&](const SweepResult& one) { return one.point.cost != results.front().point.cost; };
  const bool several_costs = std::ranges::any_of(results, other_cost);
  const bool lines = fronts.size() <= kMostLines;
  std::vector<Dot> all;
  for (const std::vector<std::size_t>& front : fronts) {
    std::vector<Dot> own;
    for (const std::size_t i : front) own.push_back(points.at(i));
    all.insert(all.end(), own.begin(), own.end());
    if (!lines) continue;
    const std::string name = front_name(results[front.front()], several_costs);
    for (const std::size_t i : front) {
      const bool alone = front.size() == 1 && fronts.size() > 1;
      plot.marks.push_back(
          {points.at(i).memory, points.at(i).slowness, results[i].point.schedule + (alone ? ": " + name : "")});
    }
    if (front.size() == 1) continue;
    plot.series.push_back(series_of("best of " + name, own, plot.series.size(), true));
  }
  if (!lines) plot.series.push_back(series_of("best of their p and m", std::move(all), plot.series.size(), false));
}

}  // namespace

Plot sweep_plot(const std::vector<SweepResult>& results) {
  const PlottedPoints points(results);
  std::map<std::string, std::vector<Dot>> by_schedule;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].figures) by_schedule[results[i].point.schedule].push_back(points.at(i));
  }
  Plot plot{
      .title = "What every choice costs",
      .note = "a dot per simulation; lines join those that no other of as many devices and microbatches beats in both",
      .x = points.memory_axis(),
      .y = points.slowness_axis(),
      .series = {},
      .marks = {}};
  constexpr std::size_t kMostNamed = 10;
  std::vector<Dot> dots;
  for (const auto& [name, own] : by_schedule) {
    dots.insert(dots.end(), own.begin(), own.end());
    if (by_schedule.size() <= kMostNamed) plot.series.push_back(series_of(name, own, plot.series.size(), false));
  }
  if (by_schedule.size() > kMostNamed) plot.series.push_back(series_of("simulations", std::move(dots), 0, false));
  add_fronts(results, points, plot);
  return plot;
}

}  // namespace plumb
