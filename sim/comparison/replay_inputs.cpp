#include "sim/comparison/replay_inputs.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

#include "models/ground/undisturbed_mean.hpp"

namespace plumb {
namespace {

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

/// Whether a run says anywhere that a device waited for its host.
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

  /// The median; 0 where nothing was seen. Call `add` no more.
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

  /// Time between the moment when a value is there and the start of its taker.
  std::int64_t slack(std::size_t u, std::size_t edge) const {
    return units_[u].start - units_[graph_.edges[edge].maker].given;
  }

  bool known(std::size_t edge) const { return units_[graph_.edges[edge].maker].there; }

  static SendKey send_key(const Span& span, bool backward) {
    const Action& a = span.action;
    return {span.device, a.replica, a.stage, backward, a.microbatch, a.slice};
  }

  /// How much of a hop passed before the call that sent the value.
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

}  // namespace

ReplayInputs replay_inputs(const ReplayGraph& graph, const Timeline& run, std::span<const RunWork> works) {
  return InputReader(graph, run, works).read();
}

ReplayInputs own_inputs(const ReplayGraph& graph, const Timeline& timeline) {
  std::vector<RunWork> works;
  works.reserve(graph.members.size());
  for (const Span* span : graph.members) works.push_back(same_action(*span));
  return replay_inputs(graph, timeline, works);
}

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

}  // namespace plumb
