#include "sim/comparison/ranking.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace plumb {
namespace {

constexpr double kStray = 5;  // median absolute deviations

double in_ns(Ticks ticks, const Timeline& timeline) {
  return static_cast<double>(ticks) / static_cast<double>(timeline.base.ticks_per_ns);
}

std::string exact_percents(double share) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f %%", 100 * share);
  return text.data();
}

std::int64_t per_update(const Timeline& timeline) {
  return timeline.num_microbatches / std::max<std::int64_t>(1, timeline.updates);
}

double idle_share(const Timeline& timeline, std::size_t device) {
  return timeline.makespan == 0
             ? 0
             : static_cast<double>(timeline.devices[device].idle) / static_cast<double>(timeline.makespan);
}

std::int64_t count_strays(const std::vector<double>& steps, double median) {
  std::vector<double> far;
  for (const double step : steps) far.push_back(std::abs(step - median));
  const double deviation = median_of(far);
  return std::ranges::count_if(far, [&](double distance) { return distance > kStray * deviation; });
}

RankedRun ranked(const Timeline& predicted, const Timeline& measured, const RankingOptions& options) {
  RankedRun run;
  run.name = (measured.schedule.empty() ? predicted.schedule : measured.schedule) + " p" +
             std::to_string(measured.devices.size()) + " m" + std::to_string(per_update(measured));
  run.predicted_ns = in_ns(predicted.step_time, predicted);
  std::vector<double> steps = step_times_ns(measured);
  const auto warm = std::min<std::int64_t>(options.first_step, std::max<std::int64_t>(0, std::ssize(steps) - 1));
  steps.erase(steps.begin(), steps.begin() + warm);
  if (steps.empty()) steps.push_back(in_ns(measured.step_time, measured));
  run.steps = std::ssize(steps);
  run.measured_ns = median_estimate(steps);
  run.strays = count_strays(steps, run.measured_ns.value);
  const auto error = [&](double against) { return against > 0 ? (run.predicted_ns - against) / against : 0; };
  run.error = error(run.measured_ns.value);
  run.most_error = std::max(std::abs(error(run.measured_ns.low)), std::abs(error(run.measured_ns.high)));
  for (std::size_t d = 0; d < std::min(predicted.devices.size(), measured.devices.size()); ++d) {
    if (!predicted.devices[d].known || !measured.devices[d].known) continue;
    run.idle_error = std::max(run.idle_error, std::abs(idle_share(predicted, d) - idle_share(measured, d)));
  }
  return run;
}

void check_order(const RankedRun& a, const RankedRun& b, double margin, Ranking& ranking) {
  const RankedRun& fast = a.predicted_ns <= b.predicted_ns ? a : b;
  const RankedRun& slow = a.predicted_ns <= b.predicted_ns ? b : a;
  if (slow.predicted_ns <= fast.predicted_ns * (1 + margin)) return;
  ++ranking.compared;
  if (fast.measured_ns.value <= slow.measured_ns.value) return;
  ++ranking.wrong;
  ranking.findings.push_back("order: " + slow.name + " is predicted " +
                             exact_percents(slow.predicted_ns / fast.predicted_ns - 1) + " slower than " + fast.name +
                             ", and measured " + exact_percents(1 - slow.measured_ns.value / fast.measured_ns.value) +
                             " faster");
}

void judge(const RankedRun& run, const RankingOptions& options, Ranking& ranking) {
  if (options.max_error && !(run.most_error <= *options.max_error)) {
    ranking.findings.push_back("step time: " + run.name + ": error " + exact_percents(run.error) + ", up to " +
                               exact_percents(run.most_error) + " within the interval, expected at most " +
                               exact_percents(*options.max_error));
  }
  if (options.max_idle && !(run.idle_error <= *options.max_idle)) {
    ranking.findings.push_back("idle time: " + run.name + ": a device's share is off by " +
                               exact_percents(run.idle_error) + ", expected at most " +
                               exact_percents(*options.max_idle));
  }
}

}  // namespace

Ranking rank_runs(std::span<const std::pair<Timeline, Timeline>> runs, const RankingOptions& options) {
  Ranking ranking;
  for (const auto& [predicted, measured] : runs) ranking.runs.push_back(ranked(predicted, measured, options));
  for (const RankedRun& run : ranking.runs) judge(run, options, ranking);
  for (std::size_t a = 0; a < runs.size(); ++a) {
    for (std::size_t b = a + 1; b < runs.size(); ++b) {
      const Timeline& one = runs[a].second;
      const Timeline& other = runs[b].second;
      const bool alike = one.devices.size() == other.devices.size() && per_update(one) == per_update(other);
      if (alike) check_order(ranking.runs[a], ranking.runs[b], options.margin, ranking);
    }
  }
  return ranking;
}

}  // namespace plumb
