#include "tools/sweep/sweep_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "models/ground/error.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/plan_runtimes.hpp"
#include "tools/options/run_options.hpp"
#include "tools/terminal/answer_lines.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"
#include "tools/terminal/words.hpp"

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
  return number_text(figures.peak_device_stashes);
}

bool has_bytes(const std::vector<SweepResult>& results) {
  return std::ranges::any_of(
      results, [](const SweepResult& each) { return each.figures && each.figures->peak_memory_bytes > 0; });
}

/// Bytes, or what the others hold, in the field's unit.
TextTable::Column memory_column(const std::vector<SweepResult>& results) {
  if (has_bytes(results)) return {"memory", '>', "peak"};
  return {"microbatches", '>', "held at peak:"};
}

bool has_jobs(const std::vector<SweepResult>& results) {
  return std::ranges::any_of(results, [](const SweepResult& result) { return result.point.job.any(); });
}

std::string spread_of(const SweepResult& result) {
  return result.point.job.any() ? result.point.job.text() : result.point.cost;
}

std::string kind_of(const SweepResult& result) { return std::string(result.semantics); }

/// Shown only where points differ in it.
std::string if_unlike(const std::vector<SweepResult>& results, const SweepResult& shown,
                      std::string (*text)(const SweepResult& each)) {
  const std::string first = text(results.front());
  const bool alike = std::ranges::all_of(results, [&](const SweepResult& each) { return text(each) == first; });
  return alike ? "-" : text(shown);
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
  const bool equal = have_equal_work(results);
  TextTable table({{"p", '>'},
                   {"m", '>'},
                   {has_jobs(results) ? "job" : "cost"},
                   {"updates"},
                   {"schedule"},
                   {"v", '>'},
                   {"work", '>'},
                   {"limit", '>'},
                   memory_column(results),
                   {"bubble", '>'},
                   {"step time", '>'},
                   {"runs in"}});
  const auto add = [&](std::size_t at) {
    const SweepResult& result = results[at];
    const SweepPoint& point = result.point;
    const SweepFigures& figures = *result.figures;
    table.add_row({std::to_string(point.params.num_devices), std::to_string(point.params.num_microbatches),
                   if_unlike(results, result, spread_of), if_unlike(results, result, kind_of), point.schedule,
                   std::to_string(point.params.chunks),
                   equal ? "-" : time_text(result.work.numerator / result.work.denominator, time_words(point.cost)),
                   point.memory_limit.empty() ? "-" : point.memory_limit, memory_text(figures),
                   fixed_text(100 * figures.bubble_fraction, 2) + " %",
                   ns_text(figures.step_time_ns, time_words(point.cost)), runs_in(point.schedule)});
  };
  for (const std::vector<std::size_t>& front : pareto_fronts(results)) std::ranges::for_each(front, add);
  table.leave_out_empty_columns();
  return table.to_string();
}

namespace {

/// Reads back as the same number.
std::string exact_text(const std::optional<double>& value) { return value ? digits_of(*value) : ""; }

/// As spreadsheets take it for a text: one that begins as a formula does has an apostrophe before it. The numbers of a
/// sweep begin with digits, or are negative.
std::string quoted(std::string text) {
  const bool is_number = !text.empty() && text.find_first_not_of("-+.0123456789e") == std::string::npos;
  if (!is_number && text.find_first_of("=+-@\t\r") == 0) text.insert(0, "'");
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

std::string csv_row(const std::vector<std::string>& cells) {
  std::string row;
  for (std::size_t i = 0; i < cells.size(); ++i) row += (i == 0 ? "" : ",") + quoted(cells[i]);
  return row + "\n";
}

/// Rows would look alike, and some not fit.
bool has_several_limits(const std::vector<SweepResult>& results) {
  return std::ranges::any_of(results, [&](const SweepResult& result) {
    return result.point.memory_limit != results.front().point.memory_limit;
  });
}

constexpr std::string_view kSweepHeader =
    "schedule,p,m,v,cost,memory_limit,tp,cp,ep,dp,zero,microbatch_size,recompute,updates,makespan_ns,step_time_ns,"
    "longest_device_span_ns,bubble_fraction,"
    "bubble_rate,utilization,samples_per_s,tokens_per_s,model_flops_utilization,peak_activations,peak_device_stashes,"
    "peak_memory_bytes,needed_bytes,makespan_ns_p5,makespan_ns_p95,bubble_fraction_p5,bubble_fraction_p95,fits,verdict,"
    "error,semantics\n";

template <class Text>
std::string interval_text(double value, const std::optional<Interval>& interval, const Text& text) {
  return interval ? text(value) + " (" + text(interval->low) + " - " + text(interval->high) + ")" : text(value);
}

}  // namespace

std::string sweep_title(const SweepPoint& point) {
  std::string title = point.schedule + " p=" + std::to_string(point.params.num_devices) +
                      " m=" + std::to_string(point.params.num_microbatches);
  if (point.params.chunks > 1) title += " v=" + std::to_string(point.params.chunks);
  if (point.job.any()) title += ", " + point.job.text();
  return title;
}

std::string sweep_table(const std::vector<SweepResult>& results) {
  const bool limits = has_several_limits(results);
  const bool repeated = std::ranges::any_of(
      results, [](const SweepResult& each) { return each.figures && each.figures->makespan_interval_ns; });
  std::vector<TextTable::Column> columns{
      {"schedule"}, {"p", '>'}, {"m", '>'}, {"v", '>'}, {has_jobs(results) ? "job" : "cost"}};
  if (limits) columns.push_back({"limit", '>'});
  if (repeated) columns.push_back({"makespan", '>'});
  columns.insert(columns.end(), {{"step time", '>'}, {"bubble", '>'}, memory_column(results), {"remark"}});
  TextTable table(columns);
  for (const SweepResult& result : results) {
    const SweepPoint& point = result.point;
    std::vector<std::string> cells{point.schedule, std::to_string(point.params.num_devices),
                                   std::to_string(point.params.num_microbatches), std::to_string(point.params.chunks),
                                   if_unlike(results, result, spread_of)};
    if (limits) cells.push_back(point.memory_limit);
    if (!result.figures) {
      cells.resize(columns.size() - 1, "-");
      cells.push_back(result.error);
    } else {
      const SweepFigures& figures = *result.figures;
      const auto time = [&](double ns) { return ns_text(ns, time_words(point.cost)); };
      if (repeated) cells.push_back(interval_text(figures.makespan_ns, figures.makespan_interval_ns, time));
      cells.push_back(time(figures.step_time_ns));
      cells.push_back(interval_text(figures.bubble_fraction, figures.bubble_interval, share_text));
      cells.push_back(memory_text(figures));
      if (result.verdict > MemoryVerdict::kFits) cells.emplace_back(verdict_word(result.verdict));
    }
    table.add_row(std::move(cells));
  }
  table.leave_out_empty_columns();
  return table.to_string();
}

std::string_view sweep_csv_header() { return kSweepHeader; }

std::string sweep_csv_row(const SweepResult& result) {
  const SweepPoint& point = result.point;
  const auto columns = static_cast<std::size_t>(std::count(kSweepHeader.begin(), kSweepHeader.end(), ',')) + 1;
  std::vector<std::string> cells{point.schedule,
                                 std::to_string(point.params.num_devices),
                                 std::to_string(point.params.num_microbatches),
                                 std::to_string(point.params.chunks),
                                 point.cost,
                                 point.memory_limit};
  for (const auto degree : {&JobDegrees::tensor, &JobDegrees::context, &JobDegrees::expert, &JobDegrees::data,
                            &JobDegrees::zero, &JobDegrees::microbatch_size}) {
    cells.push_back(point.job.*degree ? std::to_string(*(point.job.*degree)) : "");
  }
  cells.push_back(point.job.recompute);
  if (!result.figures) {
    cells.resize(columns - 2);
    cells.push_back(result.error);
    cells.emplace_back(result.semantics);
    return csv_row(cells);
  }
  const SweepFigures& f = *result.figures;
  const auto ns = [](double value) { return std::to_string(std::llround(value)); };
  const auto bound = [](const std::optional<Interval>& interval, double Interval::*end) {
    return interval ? exact_text((*interval).*end) : std::string{};
  };
  for (std::string& text : std::vector<std::string>{
           std::to_string(f.updates),
           ns(f.makespan_ns),
           ns(f.step_time_ns),
           ns(f.longest_device_span_ns),
           exact_text(f.bubble_fraction),
           exact_text(f.bubble_rate),
           exact_text(f.utilization),
           exact_text(f.samples_per_s),
           exact_text(f.tokens_per_s),
           exact_text(f.model_flops_utilization),
           exact_text(f.peak_activations),
           exact_text(f.peak_device_stashes),
           std::to_string(f.peak_memory_bytes),
           std::to_string(f.needed_bytes),
           bound(f.makespan_interval_ns, &Interval::low),
           bound(f.makespan_interval_ns, &Interval::high),
           bound(f.bubble_interval, &Interval::low),
           bound(f.bubble_interval, &Interval::high),
           result.fits ? "true" : "false",
           result.verdict == MemoryVerdict::kUnknown ? "" : std::string(verdict_word(result.verdict)),
           "",
           std::string(result.semantics)}) {
    cells.push_back(std::move(text));
  }
  return csv_row(cells);
}

void check_sweep(const std::vector<SweepResult>& results) {
  const auto failed = [](const SweepResult& result) { return !result.figures; };
  if (std::ranges::all_of(results, failed)) {
    if (results.front().cannot_run) throw CannotRun(results.front().error);
    throw Error(results.front().error);
  }
  if (std::ranges::any_of(results, &SweepResult::decided_without_contention)) note_order_without_contention();
}

std::optional<std::size_t> best_point(const std::vector<SweepResult>& results) {
  const auto fronts = pareto_fronts(results);
  return fronts.empty() ? std::nullopt : std::optional(fronts.front().back());
}

namespace {

/// "best: zb-v p=4 m=8: 25.5 units a step, bubble 5.9 %, 4 microbatches held".
std::string sweep_verdict(const std::vector<SweepResult>& results) {
  const std::optional<std::size_t> best = best_point(results);
  if (!best) return "nothing fits in memory";
  const SweepResult& result = results[*best];
  const SweepFigures& figures = *result.figures;
  const TimeWords words = time_words(result.point.cost);
  const std::string unit = words == TimeWords::kUnits ? " units" : "";
  return "best: " + sweep_title(result.point) + ": " + ns_text(figures.step_time_ns, words) + unit +
         " a step, bubble " + percent_text(figures.bubble_fraction) + ", " + memory_text(figures) +
         (memory_bytes(figures) > 0 ? " a device" : " microbatches held");
}

}  // namespace

std::string sweep_text(const std::vector<SweepResult>& results) {
  constexpr std::size_t kMostRows = 60;
  std::string text = verdict_text(sweep_verdict(results));
  if (!have_equal_work(results)) {
    text += sentence_text(
                "These schedules do unequal work (costs per stage, or of a head that only some have). The best choices "
                "compare only schedules that do the same.") +
            "\n";
  }
  text += results.size() <= kMostRows ? sweep_table(results)
                                      : std::to_string(results.size()) + " simulations; --csv FILE has them all\n";
  if (results.size() > 1 && best_point(results)) {
    text += std::string("\nbest choices, from least memory to ") +
            (has_jobs(results) ? "shortest step\n" : "least bubble\n") + pareto_table(results);
  }
  if (!has_bytes(results)) {
    text += "\n" + sentence_text(
                       "A microbatch is held from its forward to its backward. It counts 1 for a device's share of the "
                       "network; --memory says otherwise.");
  }
  if (!results.front().stands_on.empty()) text += "\n" + sentence_text(results.front().stands_on);
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
  Plot plot{.title = "What every choice costs",
            .note = "a dot per simulation; the line is the Pareto front for each number of devices and microbatches",
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
