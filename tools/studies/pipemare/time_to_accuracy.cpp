#include "tools/studies/pipemare/time_to_accuracy.hpp"

#include <algorithm>
#include <cmath>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "models/jobs/job_costs.hpp"
#include "schedules/lowering/lower.hpp"
#include "sim/simulate.hpp"
#include "tools/studies/pipemare/study_figures.hpp"
#include "tools/studies/pipemare/study_report.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/training/train_run.hpp"

namespace plumb {
namespace {

/// What a method came to on a cluster.
struct TimedMethod {
  const StudyMethod* method = nullptr;
  SimulatedClock clock;
  std::string error;
};

/// The curve over updates with its x replaced by seconds; the learning before the first point is not known.
PlotSeries timed(PlotSeries series, const SimulatedClock& clock) {
  for (double& x : series.x) {
    const auto update = static_cast<std::size_t>(x);
    x = clock.seconds[std::clamp<std::size_t>(update, 1, clock.seconds.size()) - 1];
  }
  return series;
}

std::vector<std::string> row_of(const TimedMethod& timed, const MethodFigures* figures) {
  const SimulatedClock& clock = timed.clock;
  if (!timed.error.empty()) return {timed.method->title, timed.error};
  const double step = clock.seconds.back() / static_cast<double>(clock.seconds.size());
  std::string target = "never";
  if (figures != nullptr && figures->to_target) {
    const auto updates = static_cast<std::size_t>(std::lround(figures->to_target->mean));
    target =
        time_text(std::llround(1e9 * clock.seconds[std::clamp<std::size_t>(updates, 1, clock.seconds.size()) - 1]));
    if (figures->to_target->count < figures->runs) {
      target += " (" + std::to_string(figures->to_target->count) + " of " + std::to_string(figures->runs) + ")";
    }
  }
  return {timed.method->title, time_text(std::llround(1e9 * step)), percent_text(clock.utilization),
          bytes_text(clock.peak_memory_bytes), target};
}

PlotChoice on_cluster(const Study& study, const StudyTask& task, const std::vector<StudyRun>& runs,
                      const std::string& cluster) {
  const std::vector<MethodFigures> figures = best_figures(study, runs, task);
  Plot plot = study_plot(study, task, runs);
  plot.note = "mean over seeds with 95 % interval; time simulated on " + cluster;
  plot.x.title = "simulated time, s";
  PlotTable table{.head = {"method", "time per update", "utilization", "fullest device", "time to target"}, .rows = {}};
  std::vector<PlotSeries> series;
  for (const StudyMethod& method : study.methods) {
    const auto line = std::ranges::find(plot.series, method.title, &PlotSeries::name);
    if (line == plot.series.end()) continue;
    TimedMethod of{.method = &method, .clock = {}, .error = {}};
    const MethodFigures* best = figures_of(figures, method.name);
    try {
      of.clock = simulated_clock(study_command(task, method, best->setting), cluster);
      series.push_back(timed(*line, of.clock));
    } catch (const Error& error) {
      of.error = error.what();
    }
    table.rows.push_back(row_of(of, best));
  }
  plot.series = std::move(series);
  PlotChoice choice{.name = cluster, .plot = {}, .table = std::move(table)};
  if (!plot.series.empty()) choice.plot = std::move(plot);
  return choice;
}

}  // namespace

SimulatedClock simulated_clock(const std::string& train_command, const std::string& cluster_name) {
  const TrainRun run = parse_train_run(train_command);
  const TrainOptions& options = run.options;
  const Cluster cluster = load_cluster(cluster_name);
  const auto needed = static_cast<std::size_t>(options.schedule.num_devices);
  if (cluster.devices.size() < needed) {
    throw Error(cluster_name + ": has " + std::to_string(cluster.devices.size()) + " devices, expected at least " +
                std::to_string(needed) + " (as in a100-4x8)");
  }
  const Parallelism ranks{.microbatch_size = options.model.shape.samples, .sequence = options.model.shape.sequence};
  const StageCosts costs =
      job_costs(options.model.network, options.model.partition, {cluster, options.schedule.num_devices}, ranks).costs;
  const Program program = lower(options.schedule, costs, &cluster);
  const Timeline timeline = simulate(program, {.memory_curve = false, .idle_causes = false, .critical_path = false});
  SimulatedClock clock;
  clock.utilization = timeline.utilization;
  for (const DeviceSummary& device : timeline.devices) {
    clock.peak_memory_bytes = std::max(clock.peak_memory_bytes, device.peak_memory_bytes);
  }
  clock.seconds.assign(static_cast<std::size_t>(timeline.updates), 0);
  for (const Span& span : timeline.spans) {
    if (span.action.op != Op::kU) continue;
    double& last = clock.seconds.at(index(span.action.microbatch));
    last = std::max(last, 1e-9 * static_cast<double>(to_ns(span.end, timeline.base)));
  }
  return clock;
}

PlotCard time_to_accuracy(const Study& study, const StudyTask& task, const std::vector<StudyRun>& runs,
                          const std::vector<std::string>& clusters) {
  PlotCard card{.title = task.title + ": quality over time",
                .note = "Updates as trained here, the time of each as simulated on the chosen cluster.",
                .choices = {},
                .choice_label = "cluster"};
  for (const std::string& cluster : clusters) card.choices.push_back(on_cluster(study, task, runs, cluster));
  return card;
}

}  // namespace plumb
