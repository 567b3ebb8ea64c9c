#include "sim/comparison/error_split.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "sim/comparison/alignment.hpp"
#include "sim/comparison/estimate.hpp"
#include "sim/comparison/moved_units.hpp"
#include "sim/comparison/replay.hpp"
#include "sim/comparison/replay_inputs.hpp"

namespace plumb {
namespace {

/// The step time as a difference of two moments of a replay.
struct ReplayedStep {
  ReplayTarget from;  ///< without units: the begin
  ReplayTarget to;
  double steps = 1;
};

/// The last unit of every update, by device, in the order in which the updates end.
std::map<DeviceId, std::vector<std::size_t>> update_ends(const ReplayGraph& graph) {
  std::map<DeviceId, std::vector<std::pair<std::int64_t, std::size_t>>> updates;  // number and last unit
  for (std::size_t u = 0; u < graph.units.size(); ++u) {
    const Action& action = graph.members[graph.units[u].member]->action;
    if (action.op != Op::kU) continue;
    auto& list = updates[graph.units[u].device];
    const auto number = static_cast<std::int64_t>(action.microbatch);
    const auto found = std::ranges::find(list, number, &std::pair<std::int64_t, std::size_t>::first);
    if (found != list.end()) list.erase(found);
    list.emplace_back(number, u);
  }
  std::map<DeviceId, std::vector<std::size_t>> ends;
  for (const auto& [device, list] : updates) {
    for (const auto& [number, unit] : list) ends[device].push_back(unit);
  }
  return ends;
}

/// The steady updates of one device, or else from the first to the last update; otherwise the makespan.
ReplayedStep replayed_step(const Timeline& timeline, const ReplayGraph& graph) {
  ReplayedStep step;
  if (timeline.steady_updates) {
    const auto& [device, first, last] = *timeline.steady_updates;
    const auto ends = update_ends(graph);
    const auto of = ends.find(device);
    if (of != ends.end() && last < std::ssize(of->second)) {
      step.from.units = {of->second[static_cast<std::size_t>(first)]};
      step.to.units = {of->second[static_cast<std::size_t>(last)]};
      step.steps = static_cast<double>((last - first) * timeline.updates) / static_cast<double>(of->second.size());
      return step;
    }
  }
  if (timeline.updates > 1 && !timeline.asynchronous) {
    for (const auto& [device, list] : update_ends(graph)) {
      step.from.units.push_back(list.front());
      step.to.units.push_back(list.back());
    }
    step.steps = static_cast<double>(timeline.updates - 1);
  }
  if (!step.to.units.empty()) return step;
  step = {};
  if (timeline.asynchronous) step.steps = static_cast<double>(timeline.updates);
  step.to.units.resize(graph.units.size());
  std::iota(step.to.units.begin(), step.to.units.end(), std::size_t{0});
  step.to.with_tail = true;
  return step;
}

/// `inputs` with the times of one kind from `other`.
ReplayInputs with_kind(ReplayInputs inputs, const ReplayInputs& other, std::size_t kind) {
  for (std::size_t u = 0; u < inputs.units.size(); ++u) inputs.units[u][kind] = other.units[u][kind];
  for (std::size_t e = 0; e < inputs.hops.size(); ++e) inputs.hops[e][kind] = other.hops[e][kind];
  if (kind == static_cast<std::size_t>(ReplayKind::kHost)) inputs.tail_ns = other.tail_ns;
  return inputs;
}

std::int64_t time_of(const ReplayGraph& graph, const ReplayInputs& inputs, std::size_t u, std::size_t kind) {
  std::int64_t time = inputs.units[u][kind];
  for (std::size_t edge = graph.units[u].edge; edge < graph.units[u].edges_end; ++edge) time += inputs.hops[edge][kind];
  return time;
}

/// Takes an error apart, one kind of time after the other.
class Splitter {
 public:
  Splitter(const Timeline& predicted, const ReplayGraph& graph, ReplayInputs inputs)
      : graph_(graph), step_(replayed_step(predicted, graph)), predicted_(std::move(inputs)), now_(predicted_) {
    std::vector<double> unchanged(graph.units.size(), 0);
    replace(0, predicted_, unchanged);
    replayed_ns_ = now_ns_;
  }

  /// The next part: times of `kind` become usual, then those of the run.
  PartOfError take(std::size_t kind, const ReplayInputs& usual, const ReplayInputs& run, std::size_t most_actions) {
    std::vector<double> by_unit(graph_.units.size(), 0);
    PartOfError part;
    part.part = static_cast<ErrorPart>(kind);
    part.model_ns = replace(kind, usual, by_unit);
    part.noise_ns = replace(kind, run, by_unit);
    std::vector<std::size_t> order(by_unit.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const std::size_t most = std::min(most_actions, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most), order.end(),
                      [&](std::size_t a, std::size_t b) {
                        return std::tuple(-std::abs(by_unit[a]), a) < std::tuple(-std::abs(by_unit[b]), b);
                      });
    for (std::size_t i = 0; i < most; ++i) {
      const std::size_t u = order[i];
      const std::int64_t error = -std::llround(by_unit[u]);
      if (error == 0) break;
      part.largest.push_back({graph_.units[u].device, graph_.members[graph_.units[u].member]->action,
                              time_of(graph_, predicted_, u, kind), time_of(graph_, run, u, kind), error});
    }
    return part;
  }

  /// Step time of the replay with the prediction's own times, and of the last one.
  std::int64_t replayed_ns() const { return replayed_ns_; }
  std::int64_t now_ns() const { return now_ns_; }

 private:
  /// How much shorter the step becomes.
  std::int64_t replace(std::size_t kind, const ReplayInputs& other, std::vector<double>& by_unit) {
    const ReplayInputs next = with_kind(now_, other, kind);
    const ReplayChange end = replay_change(graph_, now_, next, step_.to);
    const ReplayChange begin = replay_change(graph_, now_, next, step_.from);
    for (std::size_t u = 0; u < by_unit.size(); ++u) by_unit[u] += (end.by_unit[u] - begin.by_unit[u]) / step_.steps;
    const std::int64_t after = std::llround((end.after_ns - begin.after_ns) / step_.steps);
    now_ = next;
    return std::exchange(now_ns_, after) - after;
  }

  const ReplayGraph& graph_;
  ReplayedStep step_;
  ReplayInputs predicted_;
  ReplayInputs now_;
  std::int64_t now_ns_ = 0;
  std::int64_t replayed_ns_ = 0;
};

/// Keeps the actions with the largest errors, largest first.
void keep_largest(std::vector<ErrorAction>& actions, std::size_t most) {
  std::ranges::stable_sort(actions, std::ranges::greater(),
                           [](const ErrorAction& action) { return std::abs(action.error_ns); });
  if (actions.size() > most) actions.resize(most);
}

/// What the last replay still differs from the run: units that ran in another order, by how much later each begins in
/// the predicted one.
PartOfError order_part(const ReplayGraph& graph, const ReplayInputs& run, const Timeline& timeline,
                       std::span<const RunWork> works) {
  PartOfError part;
  const bool all_known = std::ranges::all_of(timeline.devices, &DeviceSummary::known);
  part.part = all_known ? ErrorPart::kOrder : ErrorPart::kMissing;
  const std::vector<std::int64_t> starts = replay_starts(graph, run);
  for (const std::size_t u : moved_units(graph, works)) {
    const ReplayUnit& unit = graph.units[u];
    const std::int64_t was = to_ns(works[unit.member].start, timeline.base);
    part.largest.push_back({unit.device, graph.members[unit.member]->action, starts[u], was, starts[u] - was});
  }
  return part;
}

}  // namespace

std::optional<ErrorSplit> split_error(const Timeline& predicted, std::span<const Timeline> runs, std::size_t shown,
                                      std::size_t most_actions) {
  const ReplayGraph graph = replay_graph(predicted);
  if (graph.order.empty()) return std::nullopt;
  const ReplayInputs inputs = own_inputs(graph, predicted);
  std::vector<ReplayInputs> measured;
  std::vector<RunWork> works_shown;
  for (const Timeline& run : runs) {
    auto works = run_work(graph.members, align(predicted, run));
    if (!works) return std::nullopt;
    measured.push_back(measured_inputs(graph, inputs, run, *works));
    if (&run == &runs[shown]) works_shown = *std::move(works);
  }
  const ReplayInputs usual = usual_inputs(graph, inputs, measured);
  ErrorSplit split;
  split.predicted_ns = to_ns(predicted.step_time, predicted.base);
  split.measured_ns = std::llround(step_as_predicted(predicted, runs[shown]));
  Splitter splitter(predicted, graph, inputs);
  for (std::size_t kind = 0; kind < kReplayKindCount; ++kind) {
    split.parts.push_back(splitter.take(kind, usual, measured[shown], most_actions));
  }
  // What no replay explains, of the prediction and of the run.
  PartOfError order = order_part(graph, measured[shown], runs[shown], works_shown);
  order.model_ns = split.predicted_ns - splitter.replayed_ns() + splitter.now_ns() - split.measured_ns;
  keep_largest(order.largest, most_actions);
  split.parts.push_back(std::move(order));
  for (const PartOfError& part : split.parts) {
    split.model_ns += part.model_ns;
    split.noise_ns += part.noise_ns;
  }
  std::erase_if(split.parts, [](const PartOfError& part) { return part.model_ns == 0 && part.noise_ns == 0; });
  return split;
}

}  // namespace plumb
