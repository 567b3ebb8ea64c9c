#include "sim/comparison/error_split.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "models/ground/undisturbed_mean.hpp"
#include "sim/comparison/alignment.hpp"
#include "sim/comparison/estimate.hpp"
#include "sim/comparison/replay.hpp"
#include "sim/comparison/run_work.hpp"

namespace plumb {
namespace {

constexpr std::size_t kNoPlace = std::numeric_limits<std::size_t>::max();

/// A unit that a run has, too.
struct PlacedUnit {
  std::size_t unit = 0;
  Ticks start = 0;  ///< in the run
};

/// Adds the units that are not in a longest rising sequence of starts, which can stay where they are.
void add_moved(const std::vector<PlacedUnit>& lane, std::vector<std::size_t>& moved) {
  std::vector<std::size_t> last;                           // by length: the sequence of that length that ends earliest
  std::vector<std::size_t> before(lane.size(), kNoPlace);  // in the sequence that ends with it
  for (std::size_t k = 0; k < lane.size(); ++k) {
    const auto place = std::ranges::upper_bound(last, lane[k].start, {}, [&](std::size_t i) { return lane[i].start; });
    if (place != last.begin()) before[k] = *std::prev(place);
    if (place == last.end()) {
      last.push_back(k);
    } else {
      *place = k;
    }
  }
  std::vector<bool> stays(lane.size(), false);
  for (std::size_t k = last.empty() ? kNoPlace : last.back(); k != kNoPlace; k = before[k]) stays[k] = true;
  for (std::size_t k = 0; k < lane.size(); ++k) {
    if (!stays[k]) moved.push_back(lane[k].unit);
  }
}

bool ran_apart(const ReplayUnit& unit, std::span<const RunWork> works) {
  if (unit.behind - unit.member != 2) return false;
  const RunWork& first = works[unit.member];
  const RunWork& second = works[unit.member + 1];
  const bool both = first.span != nullptr && second.span != nullptr;
  return both && (second.start >= first.end || first.start >= second.end);
}

/// Returns the units that a run had in another order than `graph`: as few of every device as would have to move to turn
/// one order into the other, and pairs whose actions did not overlap. `works` are the run's, as for `replay_inputs`.
std::vector<std::size_t> moved_units(const ReplayGraph& graph, std::span<const RunWork> works) {
  std::vector<std::size_t> moved;
  std::vector<PlacedUnit> lane;
  for (std::size_t u = 0; u < graph.units.size(); ++u) {
    if (graph.units[u].first) {
      add_moved(lane, moved);
      lane.clear();
    }
    const RunWork& work = works[graph.units[u].member];
    if (work.span != nullptr) lane.push_back({u, work.start});
  }
  add_moved(lane, moved);
  for (std::size_t u = 0; u < graph.units.size(); ++u) {
    if (ran_apart(graph.units[u], works)) moved.push_back(u);
  }
  std::ranges::sort(moved);
  moved.erase(std::unique(moved.begin(), moved.end()), moved.end());  // clang 14 has no ranges::unique
  return moved;
}

std::size_t kind_index(ReplayKind kind) { return static_cast<std::size_t>(kind); }

/// What a gap with this cause is a wait for.
ReplayKind kind_of_wait(IdleCause cause) {
  switch (cause) {
    case IdleCause::kTransferLatency:
    case IdleCause::kTransferBandwidth:
    case IdleCause::kTransferQueue:
      return ReplayKind::kMessage;
    case IdleCause::kCompute:
    case IdleCause::kCollective:
    case IdleCause::kMemory:
    case IdleCause::kUnknown:
      return ReplayKind::kWait;
    default:
      return ReplayKind::kHost;
  }
}

/// Returns whether a run says anywhere that a device waited for its host.
bool tells_of_host(const Timeline& run) {
  for (const DeviceSummary& device : run.devices) {
    for (std::size_t c = 0; c < kIdleCauseCount; ++c) {
      const auto cause = static_cast<IdleCause>(c);
      const bool edge = cause == IdleCause::kWarmup || cause == IdleCause::kDrain;
      if (!edge && kind_of_wait(cause) == ReplayKind::kHost && device.idle_causes[c] > 0) return true;
    }
  }
  return false;
}

std::int64_t middle_of(std::vector<std::int64_t>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

using DevicePair = std::pair<DeviceId, DeviceId>;

DevicePair hop_devices(const ReplayGraph& graph, std::size_t edge) {
  return {graph.units[graph.edges[edge].maker].device, graph.units[graph.edges[edge].taker].device};
}

/// One kind of time of all units, or of all hops.
struct ReplayValue {
  std::vector<ReplayTimes> ReplayInputs::*times = nullptr;
  std::size_t kind = 0;

  std::size_t count(const ReplayInputs& run) const { return (run.*times).size(); }
  auto& operator()(auto& run, std::size_t i) const { return (run.*times)[i][kind]; }
};

/// A prediction, and the runs that say what is usual.
struct HeldAgainst {
  const ReplayInputs& predicted;
  std::span<const ReplayInputs> runs;
};

/// Gives everything what is usual of what is alike and was seen, over all runs; of all that is alike where nothing was.
/// Usual is all between the median and the mean without disturbances: a prediction there is taken as it is, any other
/// one is held against the nearer end. `value(run, i)` is where the run keeps the i-th one.
void set_to_usual(ReplayInputs& usual, const HeldAgainst& of, auto alike, auto seen, auto value) {
  const std::size_t count = value.count(usual);
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, alike);
  std::vector<std::int64_t> values;
  for (std::size_t begin = 0, end = 0; begin < count; begin = end) {
    values.clear();
    for (; end < count && alike(order[end]) == alike(order[begin]); ++end) {
      for (const ReplayInputs& run : of.runs) {
        if (seen(run, order[end])) values.push_back(value(run, order[end]));
      }
    }
    const bool any = !values.empty();
    for (std::size_t i = begin; !any && i < end; ++i) values.push_back(value(of.runs.front(), order[i]));

    std::ranges::sort(values);
    const std::int64_t median = values[(values.size() - 1) / 2];
    const auto [least, most] = std::minmax({median, undisturbed_mean(values, median)});
    for (std::size_t i = begin; i < end; ++i) {
      value(usual, order[i]) = std::clamp<std::int64_t>(value(of.predicted, order[i]), least, most);
    }
  }
}

/// When and why a unit ran in a run. Nanoseconds.
struct UnitRun {
  bool there = false;
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::int64_t given = 0;  ///< when its result is there: mostly its end
  std::int64_t duration = 0;
  std::int64_t lane_free = 0;  ///< end of what its device did before
  IdleCause cause{};
};

/// Which message: its sender, and the value that it carries.
using SendKey = std::tuple<DeviceId, ReplicaId, StageId, bool, MicrobatchId, std::int16_t>;

/// What is usual of something that was seen several times, by where it was seen.
template <class Place>
class Usual {
 public:
  void add(const Place& place, std::int64_t ns) { seen_[place].push_back(ns); }

  /// Returns the median; 0 where nothing was seen. Call `add` no more.
  std::int64_t at(const Place& place) {
    const auto [entry, is_new] = usual_.try_emplace(place, 0);
    if (is_new) entry->second = middle_of(seen_[place]);
    return entry->second;
  }

 private:
  std::map<Place, std::vector<std::int64_t>> seen_;
  std::map<Place, std::int64_t> usual_;
};

/// Reads the times of one run; `replay_inputs` says how.
class InputReader {
 public:
  InputReader(const ReplayGraph& graph, const Timeline& run, std::span<const RunWork> works)
      : graph_(graph), run_(run), works_(works), host_(tells_of_host(run)), units_(graph.units.size()) {
    find_lanes();
    for (std::size_t u = 0; u < units_.size(); ++u) read_unit(u);
    for (const Span& span : run.spans) {
      if (span.lane == Lane::kTransfer) sends_.emplace_back(send_key(span, span.action.op == Op::kSendB), span.start);
    }
    std::ranges::sort(sends_);
    inputs_.units.resize(units_.size());
    inputs_.hops.resize(graph.edges.size());
    inputs_.lag_seen.resize(units_.size(), false);
    inputs_.hop_seen.resize(graph.edges.size(), false);
  }

  ReplayInputs read() {
    std::int64_t last = 0;
    for (const UnitRun& unit : units_) last = std::max(last, unit.end);
    inputs_.tail_ns = ns(run_.makespan) - last;
    for (std::size_t u = 0; u < units_.size(); ++u) inputs_.units[u].front() = units_[u].duration;
    for (std::size_t u = 0; u < units_.size(); ++u) see(u);
    for (std::size_t u = 0; u < units_.size(); ++u) assume(u);
    return std::move(inputs_);
  }

 private:
  std::int64_t ns(Ticks ticks) const { return to_ns(ticks, run_.base); }

  /// The end of everything before each span in its lane, by span.
  void find_lanes() {
    std::optional<DeviceId> device;
    Ticks free = 0;
    lane_free_.resize(run_.spans.size(), 0);
    for (const Span& span : run_.spans) {
      if (span.lane != Lane::kCompute) continue;
      if (device != span.device) free = 0;
      device = span.device;
      lane_free_[static_cast<std::size_t>(&span - run_.spans.data())] = free;
      free = std::max(free, span.end);
    }
  }

  void read_unit(std::size_t u) {
    UnitRun& unit = units_[u];
    const RunWork* first = nullptr;
    std::int64_t together = 0;
    for (std::size_t m = graph_.units[u].member; m < graph_.units[u].behind; ++m) {
      const RunWork& work = works_[m];
      if (work.span == nullptr) continue;
      if (first == nullptr || work.start < first->start) first = &work;
      unit.end = std::max(unit.end, ns(work.end));
      unit.given = std::max(unit.given, ns(work.giver->end));
      together += ns(work.start + work.length) - ns(work.start);
    }
    if (first == nullptr) return;
    unit.there = true;
    unit.start = ns(first->start);
    // Work that begins inside a span follows other work of it.
    const bool inside = first->start != first->span->start;
    unit.lane_free = inside ? unit.start : ns(lane_free_[static_cast<std::size_t>(first->span - run_.spans.data())]);
    unit.cause = first->span->waited_for;
    // Halves that overlap take the time of both together, halves one after the other may stand apart.
    unit.duration = std::min(together, unit.end - unit.start);
  }

  /// Returns the time between the moment when a value is there and the start of its taker.
  std::int64_t slack(std::size_t u, std::size_t edge) const {
    return units_[u].start - units_[graph_.edges[edge].maker].given;
  }

  bool known(std::size_t edge) const { return units_[graph_.edges[edge].maker].there; }

  static SendKey send_key(const Span& span, bool backward) {
    const Action& a = span.action;
    return {span.device, a.replica, a.stage, backward, a.microbatch, a.slice};
  }

  /// Returns how much of a hop passed before the call that sent the value.
  std::int64_t before_send(std::size_t edge, std::int64_t hop) const {
    if (!host_) return 0;
    const ReplayUnit& maker = graph_.units[graph_.edges[edge].maker];
    for (std::size_t m = maker.member; m < maker.behind; ++m) {
      const Span* giver = works_[m].giver;
      if (giver == nullptr) continue;
      const SendKey key = send_key(*giver, is_backward(giver->action.op));
      const auto sent = std::ranges::lower_bound(sends_, key, {}, &std::pair<SendKey, Ticks>::first);
      if (sent == sends_.end() || sent->first != key) continue;
      return std::clamp<std::int64_t>(ns(sent->second) - ns(giver->end), 0, std::max<std::int64_t>(0, hop));
    }
    return 0;
  }

  /// What the unit waited for last, as it can be seen.
  void see(std::size_t u) {
    const UnitRun& unit = units_[u];
    if (!unit.there) return;
    const ReplayUnit& place = graph_.units[u];
    const std::int64_t lag = unit.start - unit.lane_free;
    std::optional<std::size_t> latest;
    for (std::size_t edge = place.edge; edge < place.edges_end; ++edge) {
      if (known(edge) && (!latest || slack(u, edge) < slack(u, *latest))) latest = edge;
    }
    const ReplayKind kind = place.first ? ReplayKind::kHost : kind_of_wait(unit.cause);
    if (latest && lag > 0 && (slack(u, *latest) < lag || kind == ReplayKind::kMessage)) {
      const std::int64_t hop = slack(u, *latest);
      const std::int64_t host = before_send(*latest, hop);
      ReplayTimes& times = inputs_.hops[*latest];
      times[kind_index(ReplayKind::kHost)] = host;
      times[kind_index(ReplayKind::kMessage)] = hop - host;
      hosts_.add(hop_devices(graph_, *latest), host);
      messages_.add(hop_devices(graph_, *latest), hop - host);
      inputs_.hop_seen[*latest] = true;
      return;
    }
    inputs_.units[u][kind_index(kind)] = lag;
    inputs_.lag_seen[u] = true;
    if (!place.first) lags_.add(place.device, kind == ReplayKind::kHost ? lag : 0);
  }

  /// What could not be seen is what is usual, as far as there was time for it.
  void assume(std::size_t u) {
    const UnitRun& unit = units_[u];
    if (!unit.there) return;
    const ReplayUnit& place = graph_.units[u];
    bool bound = false;
    for (std::size_t edge = place.edge; edge < place.edges_end; ++edge) {
      if (!known(edge)) continue;
      if (inputs_.hop_seen[edge]) {
        bound = true;
        continue;
      }
      const std::int64_t room = slack(u, edge);
      const std::int64_t host = std::min(hosts_.at(hop_devices(graph_, edge)), std::max<std::int64_t>(0, room));
      inputs_.hops[edge][kind_index(ReplayKind::kHost)] = host;
      inputs_.hops[edge][kind_index(ReplayKind::kMessage)] =
          std::min(messages_.at(hop_devices(graph_, edge)), room - host);
    }
    if (bound && !place.first) {
      inputs_.units[u][kind_index(ReplayKind::kHost)] = std::min(lags_.at(place.device), unit.start - unit.lane_free);
    }
  }

  const ReplayGraph& graph_;
  const Timeline& run_;
  std::span<const RunWork> works_;
  bool host_;
  std::vector<UnitRun> units_;
  std::vector<Ticks> lane_free_;  ///< by span of the run
  std::vector<std::pair<SendKey, Ticks>> sends_;
  ReplayInputs inputs_;
  Usual<DevicePair> hosts_;
  Usual<DevicePair> messages_;
  Usual<DeviceId> lags_;
};

/// Devices of which the run knows nothing keep their predicted times. How long another one waited for them says nothing
/// about its own.
void keep_unknown(const ReplayGraph& graph, const ReplayInputs& predicted, const Timeline& run,
                  std::span<const RunWork> works, ReplayInputs& inputs) {
  inputs.unknown.resize(graph.units.size());
  for (std::size_t u = 0; u < graph.units.size(); ++u) inputs.unknown[u] = !is_known(run, graph.units[u].device);
  if (std::ranges::find(inputs.unknown, true) == inputs.unknown.end()) return;
  inputs.tail_ns = predicted.tail_ns;
  for (std::size_t edge = 0; edge < graph.edges.size(); ++edge) {
    const auto& [maker, taker] = graph.edges[edge];
    if (inputs.unknown[maker] || inputs.unknown[taker]) inputs.hops[edge] = predicted.hops[edge];
  }
  for (std::size_t u = 0; u < graph.units.size(); ++u) {
    const ReplayUnit& unit = graph.units[u];
    const Span* span = works[unit.member].span;
    bool waited = span != nullptr && span->waited_for == IdleCause::kUnknown && span->idle_before > 0;
    for (std::size_t edge = unit.edge; unit.first && edge < unit.edges_end; ++edge) {
      waited = waited || inputs.unknown[graph.edges[edge].maker];
    }
    if (!waited) continue;
    for (std::size_t kind = 1; kind < kReplayKindCount; ++kind) inputs.units[u][kind] = predicted.units[u][kind];
    inputs.lag_seen[u] = false;
  }
}

/// Returns the times of `run` for a graph that was made from another timeline (or from itself), so that a replay ends
/// when the run did if both have the same actions in the same order.
///
/// `works` holds for every member of the graph where `run` did its work; where it did not, it takes no time.
///
/// Two things hold a unit up, its lane and a value; only the later one can be seen. The other one is given what is
/// usual between the same devices, but no more than there was time for. What passed between the end of the giving
/// action and the call that sent its result is the host's where the run tells of the host at all.
ReplayInputs replay_inputs(const ReplayGraph& graph, const Timeline& run, std::span<const RunWork> works) {
  return InputReader(graph, run, works).read();
}

/// Returns the times of the timeline that the graph was made from.
ReplayInputs own_inputs(const ReplayGraph& graph, const Timeline& timeline) {
  std::vector<RunWork> works;
  works.reserve(graph.members.size());
  for (const Span* span : graph.members) works.push_back(same_action(*span));
  return replay_inputs(graph, timeline, works);
}

/// Returns `replay_inputs`, in which what the run does not have takes as long as predicted.
ReplayInputs measured_inputs(const ReplayGraph& graph, const ReplayInputs& predicted, const Timeline& run,
                             std::span<const RunWork> works) {
  ReplayInputs inputs = replay_inputs(graph, run, works);
  const auto missing = [&](std::size_t u) {
    const ReplayUnit& unit = graph.units[u];
    return std::all_of(works.begin() + static_cast<std::ptrdiff_t>(unit.member),
                       works.begin() + static_cast<std::ptrdiff_t>(unit.behind),
                       [](const RunWork& work) { return work.span == nullptr; });
  };
  for (std::size_t u = 0; u < graph.units.size(); ++u) {
    if (missing(u)) inputs.units[u] = predicted.units[u];
  }
  keep_unknown(graph, predicted, run, works, inputs);
  return inputs;
}

/// Returns what is usual in several runs: each time lies between the median and the mean of its like over all runs.
/// Alike are actions of the same device, stage and op that take equally long in `predicted`, the time before actions of
/// the same op and device, and messages from the same device to the same other one.
ReplayInputs usual_inputs(const ReplayGraph& graph, const ReplayInputs& predicted, std::span<const ReplayInputs> runs) {
  ReplayInputs usual = runs.front();
  const auto op = [&](std::size_t u) { return graph.members[graph.units[u].member]->action.op; };
  const auto stage = [&](std::size_t u) { return graph.members[graph.units[u].member]->action.stage; };
  const auto replace = [&](std::vector<ReplayTimes> ReplayInputs::*times, std::size_t kind, auto seen, auto alike) {
    set_to_usual(usual, {predicted, runs}, alike, seen, ReplayValue{times, kind});
  };
  const auto always = [](const ReplayInputs&, std::size_t) { return true; };
  const auto lag_seen = [](const ReplayInputs& run, std::size_t u) { return run.lag_seen[u]; };
  const auto hop_seen = [](const ReplayInputs& run, std::size_t edge) { return run.hop_seen[edge]; };
  replace(&ReplayInputs::units, 0, always, [&](std::size_t u) {
    const ReplayUnit& unit = graph.units[u];
    return std::tuple(unit.device, stage(u), op(u), unit.behind - unit.member, predicted.units[u].front());
  });
  for (std::size_t kind = 1; kind < kReplayKindCount; ++kind) {
    replace(&ReplayInputs::units, kind, lag_seen,
            [&](std::size_t u) { return std::tuple(graph.units[u].device, graph.units[u].first, op(u)); });
    replace(&ReplayInputs::hops, kind, hop_seen, [&](std::size_t edge) { return hop_devices(graph, edge); });
  }
  const ReplayInputs& first = runs.front();
  for (std::size_t u = 0; u < graph.units.size(); ++u) {
    if (first.unknown[u]) usual.units[u] = first.units[u];
  }
  for (std::size_t edge = 0; edge < graph.edges.size(); ++edge) {
    const auto& [maker, taker] = graph.edges[edge];
    if (first.unknown[maker] || first.unknown[taker]) usual.hops[edge] = first.hops[edge];
  }
  return usual;
}

/// The step time as a difference of two moments of a replay.
struct ReplayedStep {
  ReplayTarget from;  ///< without units: the begin
  ReplayTarget to;
  double steps = 1;
};

/// Returns the last unit of every update, by device, in the order in which the updates end.
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

/// Returns the steady updates of one device, or else from the first to the last update; otherwise the makespan.
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

  /// Returns the next part: times of `kind` become usual, then those of the run.
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
  /// Returns how much shorter the step becomes.
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

/// Returns what the last replay still differs from the run: units that ran in another order, by how much later each
/// begins in the predicted one.
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
