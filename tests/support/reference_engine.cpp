#include "tests/support/reference_engine.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/topological_sort.hpp>
#include <cmath>
#include <iterator>
#include <vector>

#include "schedules/program/waits.hpp"
#include "sim/rules/jitter.hpp"
#include "sim/rules/transfer_semantics.hpp"

namespace plumb::testing {
namespace {

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property,
                                    boost::property<boost::edge_weight_t, Ticks>>;
using Moment = Graph::vertex_descriptor;

/// The moments of a unit of a lane. Both members of a pair have the same.
struct UnitMoments {
  Moment reach = 0;
  Moment post = 0;
  Moment ready = 0;
  Moment start = 0;
  Moment end = 0;
  Moment issued = 0;  ///< the calls that send what it made are over
};

struct MessageMoments {
  Moment start = 0;
  Moment done = 0;
  Moment available = 0;
  Moment sent = 0;
};

class LongestPath {
 public:
  /// `posted_before`: the messages whose receive is taken to be posted before the call begins that sends them.
  LongestPath(const Program& program, const SimOptions& options, const std::vector<bool>& posted_before)
      : program_(program),
        options_(options),
        rules_(rules_of(options.transfers)),
        posted_before_(posted_before),
        batches_(batches_of(program, options.transfers)) {}

  std::optional<RunTimes> run() {
    for (std::size_t d = 0; d + 1 < program_.lane_begin.size(); ++d) add_lane(d);
    messages_.resize(program_.transfers.size());
    for (MessageMoments& m : messages_) m = {add(), add(), add(), add()};
    for (std::size_t c = 0; c < program_.collectives.size(); ++c) add_collective(c);
    for (InstrIndex i = 0; i < program_.size(); ++i) add_waits(i);
    for (InstrIndex i = 0; i < program_.size(); i = unit_end(program_, i)) add_host_and_calls(i);
    for (std::uint32_t t = 0; t < program_.transfers.size(); ++t) add_message(t);
    add_service_order();
    add_pair_queues();
    add_batches();
    return solve();
  }

  /// Which receives turned out to be posted before the call begins that sends the message.
  std::vector<bool> posted_before() const {
    std::vector<bool> before;
    for (std::uint32_t t = 0; t < program_.transfers.size(); ++t) {
      before.push_back(rules_.needs_post && at_[posted_[t]] < at_[called_[t]]);
    }
    return before;
  }

 private:
  Moment add() { return boost::add_vertex(graph_); }
  void after(Moment later, Moment earlier, Ticks delay = 0) { boost::add_edge(earlier, later, delay, graph_); }

  void add_lane(std::size_t device) {
    const InstrIndex end = program_.lane_begin[device + 1];
    for (InstrIndex i = program_.lane_begin[device]; i < end;) {
      const bool pair = program_.rows[program_.instrs[i].row].overlapped;
      const UnitMoments unit{add(), add(), add(), add(), add(), add()};
      after(unit.post, unit.reach);
      after(unit.start, unit.ready);
      after(unit.end, unit.start, duration_of(program_, i, DeviceId{static_cast<std::int32_t>(device)}, options_.seed));
      if (i > program_.lane_begin[device]) after(unit.reach, units_.back().issued);
      units_.push_back(unit);
      if (pair) units_.push_back(unit);
      i += pair ? 2 : 1;
    }
  }

  /// The end of a call that begins at `begin`; `what` says how long it takes.
  Moment call(Moment begin, std::uint32_t t, Ticks CallTicks::*what) {
    if (!program_.runtime.has_calls()) return begin;
    const Moment end = add();
    after(end, begin, program_.runtime.calls[t].*what);
    return end;
  }

  /// §5.7: the calls that post receives before the unit of `first`, the host's time, and the calls behind it that send.
  void add_host_and_calls(InstrIndex first) {
    posted_.resize(program_.transfers.size());
    called_.resize(program_.transfers.size());
    const UnitMoments& unit = units_[first];
    const auto each = [&](auto place, auto&& act) {
      for (InstrIndex i = first; i != unit_end(program_, first); ++i) {
        for (std::uint32_t t = 0; t < program_.transfers.size(); ++t) {
          if (place(program_.transfers[t]) == i) act(t);
        }
      }
    };
    const auto post = [&](Moment at, bool in_batches) {
      each([](const Transfer& transfer) { return transfer.post; },
           [&](std::uint32_t t) {
             if (!rules_.needs_post || is_received_in_batch(t) != in_batches) return;
             at = posted_[t] = call(at, t, &CallTicks::receive);
           });
      return at;
    };
    after(unit.post, post(unit.reach, true));
    after(unit.ready, post(unit.post, false), host_before(program_, first));
    Moment at = unit.end;
    each([&](const Transfer& transfer) { return rules_.in_issue_order ? transfer.issue : transfer.producer; },
         [&](std::uint32_t t) {
           called_[t] = at;
           const bool posted = !rules_.needs_post || posted_before_[t];
           at = call(at, t, posted ? &CallTicks::send_posted : &CallTicks::send);
         });
    after(unit.issued, at);
  }

  bool is_received_in_batch(std::uint32_t t) const {
    return rules_.batches && batches_.of_receive[t] != Batches::kNone;
  }

  void add_waits(InstrIndex i) {
    for (std::uint32_t w = program_.instrs[i].first_wait; w < program_.instrs[i + 1].first_wait; ++w) {
      const Wait& wait = program_.waits[w];
      if (wait.via == Wait::kDirect) {
        after(units_[i].start, units_[wait.source].end);
      } else if (wait.via == Wait::kLatency) {
        after(units_[i].start, units_[wait.source].end, *program_.comm);
      } else if ((wait.via & Wait::kCollectiveBit) != 0) {
        after(units_[i].start, collectives_[wait.via & ~Wait::kCollectiveBit]);
      } else {
        after(units_[i].start, messages_[wait.via].available);
      }
    }
  }

  void add_collective(std::size_t c) {
    collectives_.push_back(add());
    for (const InstrIndex member : program_.collectives[c].members) {
      after(collectives_.back(), units_[member].end, program_.collectives[c].duration);
    }
  }

  void add_message(std::uint32_t t) {
    const Transfer& transfer = program_.transfers[t];
    const Channel& channel = program_.channels[transfer.channel];
    const MessageMoments& m = messages_[t];
    const InstrIndex lane_end = program_.lane_begin[index(channel.from) + 1];
    after(m.start, called_[t]);
    after(m.done, m.start, sending_time(transfer.bytes, channel.route, program_.base));
    after(m.available, m.done, latency_time(channel.route, program_.base));
    after(m.sent, m.done);
    if (transfer.sent < lane_end) after(units_[transfer.sent].post, m.sent);
    if (rules_.blocks_lane && !program_.is_move(t)) {
      InstrIndex next = transfer.issue;
      while (next < lane_end && units_[next].start == units_[transfer.issue].start) ++next;
      if (next < lane_end) after(units_[next].reach, m.available);
    }
  }

  void add_service_order() {
    const IndexLists order = service_order(program_, options_.transfers);
    for (std::size_t c = 0; c < program_.channels.size(); ++c) {
      const auto served = order.of(c);
      for (std::size_t k = 1; k < served.size(); ++k) after(messages_[served[k]].start, messages_[served[k - 1]].done);
    }
  }

  void add_pair_queues() {
    const PairQueues queues = pair_queues_of(program_, options_.transfers);
    for (std::uint32_t t = 0; t < queues.before_send.size(); ++t) {
      for (const std::uint32_t front : {queues.before_send[t], queues.before_receive[t]}) {
        if (front != PairQueues::kNone) after(messages_[t].start, messages_[front].done);
      }
    }
  }

  /// Batches, and what waits for the posting of receives.
  void add_batches() {
    if (!rules_.needs_post) return;
    std::vector<Moment> ends;
    for (std::size_t b = 0; b < batches_.size.size(); ++b) ends.push_back(add());
    for (std::uint32_t t = 0; t < program_.transfers.size(); ++t) {
      const MessageMoments& m = messages_[t];
      after(m.start, posted_[t]);
      if (is_received_in_batch(t)) {
        const Ticks latency = latency_time(program_.channels[program_.transfers[t].channel].route, program_.base);
        after(ends[batches_.of_receive[t]], m.done, latency);
        after(m.available, ends[batches_.of_receive[t]]);
      }
      if (rules_.batches && batches_.of_send[t] != Batches::kNone) {
        after(ends[batches_.of_send[t]], m.done);
        after(m.sent, ends[batches_.of_send[t]]);
      }
    }
  }

  std::optional<RunTimes> solve() {
    std::vector<Moment> order;
    try {
      boost::topological_sort(graph_, std::back_inserter(order));
    } catch (const boost::not_a_dag&) {
      return std::nullopt;
    }
    std::vector<Ticks>& at = at_;
    at.assign(boost::num_vertices(graph_), 0);
    const auto delays = boost::get(boost::edge_weight, graph_);
    for (auto moment = order.rbegin(); moment != order.rend(); ++moment) {
      for (const auto edge : boost::make_iterator_range(boost::out_edges(*moment, graph_))) {
        Ticks& later = at[boost::target(edge, graph_)];
        later = std::max(later, at[*moment] + delays[edge]);
      }
    }
    RunTimes times;
    for (InstrIndex i = 0; i < units_.size(); ++i) {
      const UnitMoments& unit = units_[i];
      times.start.push_back(at[unit.start]);
      times.end.push_back(at[unit.end]);
      const bool second = i > 0 && units_[i - 1].start == unit.start;
      if (program_.runtime.costs()) times.ready.push_back(second ? -1 : at[unit.ready]);
      if (program_.runtime.has_calls()) times.issued.push_back(second ? -1 : at[unit.issued]);
    }
    for (std::uint32_t t = 0; program_.runtime.has_calls() && t < called_.size(); ++t) {
      times.called.push_back(at[called_[t]]);
    }
    for (const MessageMoments& m : messages_) {
      times.transfers.push_back({at[m.start], at[m.done], at[m.available]});
      if (rules_.batches) times.sent_at.push_back(at[m.sent]);
    }
    for (const Moment collective : collectives_) times.collective_end.push_back(at[collective]);
    for (const Ticks end : times.end) times.makespan = std::max(times.makespan, end);
    for (const Ticks end : times.collective_end) times.makespan = std::max(times.makespan, end);
    return times;
  }

  const Program& program_;
  const SimOptions& options_;
  TransferRules rules_;
  const std::vector<bool>& posted_before_;
  Batches batches_;
  Graph graph_;
  std::vector<UnitMoments> units_;  ///< by instr
  std::vector<MessageMoments> messages_;
  std::vector<Moment> posted_;  ///< by transfer: the call is over that posts its receive
  std::vector<Moment> called_;  ///< by transfer: the call begins that sends it
  std::vector<Moment> collectives_;
  std::vector<Ticks> at_;  ///< by moment
};

constexpr Ticks kUnknown = -1;
constexpr std::int64_t kWhole = 1'000'000'000;

std::int64_t billionths(double share) { return std::llround(share * 1e9); }

struct ReferenceLane {
  InstrIndex next = 0;
  InstrIndex end = 0;
  bool running = false;
  std::int64_t left = 0;  ///< billionths of ticks
  std::int64_t rate = 0;
};

class TickByTick {
 public:
  TickByTick(const Program& program, TransferMode mode)
      : program_(program), mode_(mode), order_(service_order(program, mode)) {
    times_.start.assign(program.size(), kUnknown);
    times_.end.assign(program.size(), kUnknown);
    times_.transfers.assign(program.transfers.size(), {kUnknown, kUnknown, kUnknown});
    times_.collective_end.assign(program.collectives.size(), kUnknown);
    for (std::size_t d = 0; d + 1 < program.lane_begin.size(); ++d) {
      lanes_.push_back({.next = program.lane_begin[d], .end = program.lane_begin[d + 1]});
    }
    served_.assign(program.channels.size(), 0);
    clock_.assign(lanes_.size(), allowed(0));
    target_ = clock_;
  }

  std::optional<RunTimes> run(Ticks patience) {
    Ticks moved = 0;
    for (now_ = 0; !finished(); ++now_) {
      if (now_ > 0) move_clocks();
      while (happen()) moved = now_;
      if (now_ - moved > patience) return std::nullopt;
      for (ReferenceLane& lane : lanes_) lane.left -= lane.running ? lane.rate : 0;
    }
    times_.makespan = 0;
    for (const Ticks end : times_.end) times_.makespan = std::max(times_.makespan, end);
    for (const Ticks end : times_.collective_end) times_.makespan = std::max(times_.makespan, end);
    return times_;
  }

 private:
  bool finished() const {
    const bool lanes = std::ranges::all_of(lanes_, [](const ReferenceLane& lane) { return lane.next == lane.end; });
    return lanes && std::ranges::all_of(times_.transfers, [](const TransferTimes& t) { return t.done != kUnknown; });
  }

  /// Everything of this tick that can happen; then everybody gets a new rate. False when nothing happened.
  bool happen() {
    bool any = false;
    for (bool more = true; more; any |= more) {
      more = false;
      for (ReferenceLane& lane : lanes_) more |= end(lane);
      for (ReferenceLane& lane : lanes_) more |= begin(lane);
      for (std::size_t c = 0; c < served_.size(); ++c) more |= serve(c);
      more |= end_collectives();
    }
    for (std::size_t d = 0; d < lanes_.size(); ++d) set_rate(d);
    for (ReferenceLane& lane : lanes_) any |= lane.running && 2 * lane.left < lane.rate;
    return any;
  }

  bool end(ReferenceLane& lane) {
    if (!lane.running || (lane.left != 0 && 2 * lane.left >= lane.rate)) return false;
    lane.running = false;
    const InstrIndex behind = unit_end(program_, lane.next);
    for (; lane.next != behind; ++lane.next) times_.end[lane.next] = now_;
    return true;
  }

  bool begin(ReferenceLane& lane) {
    if (lane.running || lane.next == lane.end) return false;
    const InstrIndex behind = unit_end(program_, lane.next);
    for (std::uint32_t w = program_.instrs[lane.next].first_wait; w != program_.instrs[behind].first_wait; ++w) {
      if (!is_over(program_.waits[w])) return false;
    }
    for (std::uint32_t t = 0; t < program_.transfers.size(); ++t) {  // sends that are waited for here
      const Transfer& transfer = program_.transfers[t];
      const bool own = index(program_.channels[transfer.channel].from) == device_of(lane.next);
      const bool here = own && transfer.sent >= lane.next && transfer.sent < behind;
      if (here && times_.transfers[t].done == kUnknown) return false;
    }
    for (InstrIndex i = lane.next; i != behind; ++i) times_.start[i] = now_;
    lane.running = true;
    lane.left = program_.durations[program_.instrs[lane.next].row] * kWhole;
    lane.rate = 0;
    return true;
  }

  bool is_over(const Wait& wait) const {
    const auto known = [&](Ticks moment) { return moment != kUnknown && moment <= now_; };
    if (is_for_transfer(wait)) return known(times_.transfers[wait.via].available);
    if (is_for_collective(wait)) return known(times_.collective_end[collective_of(wait)]);
    const Ticks end = times_.end[wait.source];
    return end != kUnknown && end + (wait.via == Wait::kLatency ? *program_.comm : 0) <= now_;
  }

  bool serve(std::size_t channel) {
    const auto messages = order_.of(channel);
    std::size_t& at = served_[channel];
    if (at == messages.size()) return false;
    const std::uint32_t t = messages[at];
    TransferTimes& times = times_.transfers[t];
    const Route& route = program_.channels[channel].route;
    if (times.start == kUnknown) {
      if (times_.end[offered_by(program_.transfers[t], mode_)] == kUnknown) return false;
      times.start = now_;
      return true;
    }
    if (times.start + sending_time(program_.transfers[t].bytes, route, program_.base) > now_) return false;
    times.done = now_;
    times.available = now_ + latency_time(route, program_.base);
    ++at;
    return true;
  }

  bool end_collectives() {
    bool any = false;
    for (std::size_t c = 0; c < times_.collective_end.size(); ++c) {
      const auto& members = program_.collectives[c].members;
      if (times_.collective_end[c] != kUnknown) continue;
      if (std::ranges::any_of(members, [&](InstrIndex i) { return times_.end[i] == kUnknown; })) continue;
      times_.collective_end[c] = now_ + program_.collectives[c].duration;
      any = true;
    }
    return any;
  }

  // --- what is under way

  std::size_t device_of(InstrIndex i) const {
    return index(program_.holders[program_.rows[program_.instrs[i].row].holder].device);
  }
  bool same_node(std::size_t a, std::size_t b) const {
    const auto per_node = static_cast<std::size_t>(program_.devices_per_node);
    return a / per_node == b / per_node;
  }
  bool computes(std::size_t device) const {
    const ReferenceLane& lane = lanes_[device];
    return lane.running && program_.durations[program_.instrs[lane.next].row] > 0;
  }
  std::size_t kind(std::size_t device) const {
    const Row& row = program_.rows[program_.instrs[lanes_[device].next].row];
    if (row.overlapped) return static_cast<std::size_t>(Load::kPair);
    const auto name = std::ranges::find(kLoadNames, kOpNames[static_cast<std::size_t>(row.op)]);
    return name == kLoadNames.end() ? 0 : static_cast<std::size_t>(name - kLoadNames.begin());
  }
  bool is_sent(std::size_t t) const {
    return times_.transfers[t].start != kUnknown && times_.transfers[t].done == kUnknown;
  }
  bool goes_on(std::size_t c) const { return times_.collective_end[c] > now_ && program_.collectives[c].duration > 0; }

  /// Loads of one kind that `wanted(device)` holds an end of.
  template <class Wanted>
  std::int64_t count(std::size_t load, Wanted wanted) const {
    std::int64_t number = 0;
    for (std::size_t d = 0; d < lanes_.size(); ++d) number += wanted(d) && computes(d) && kind(d) == load ? 1 : 0;
    for (std::size_t t = 0; load == static_cast<std::size_t>(Load::kMessage) && t < program_.transfers.size(); ++t) {
      const Channel& channel = program_.channels[program_.transfers[t].channel];
      number += is_sent(t) && (wanted(index(channel.from)) || wanted(index(channel.to))) ? 1 : 0;
    }
    for (std::size_t c = 0; load == static_cast<std::size_t>(Load::kCollective) && c < program_.collectives.size();
         ++c) {
      const auto& members = program_.collectives[c].members;
      number += goes_on(c) && std::ranges::any_of(members, [&](InstrIndex i) { return wanted(device_of(i)); }) ? 1 : 0;
    }
    return number;
  }

  void set_rate(std::size_t device) {
    const Contention& contention = program_.contention;
    const auto in_node = [&](std::size_t d) { return same_node(d, device); };
    const auto itself = [&](std::size_t d) { return d == device; };
    if (contention.clock) {
      double load = 0;
      for (std::size_t l = 0; l < kLoadCount; ++l) {
        const std::int64_t number = contention.clock->per_device ? count(l, itself) : count(l, in_node);
        load += static_cast<double>(number) * contention.clock->load[l];
      }
      target_[device] = allowed(load);
      if (contention.clock->period_ns == 0) clock_[device] = target_[device];
    }
    if (!computes(device)) return;
    std::int64_t slow = kWhole;
    for (const Slowdown& slowdown : contention.slowdowns) {
      if (!has(slowdown.of, kind(device))) continue;
      std::int64_t others = has(slowdown.by, kind(device)) ? -1 : 0;
      for (std::size_t l = 0; l < kLoadCount; ++l) others += has(slowdown.by, l) ? count(l, in_node) : 0;
      if (others > 0) slow += billionths(slowdown.gamma[std::min<std::size_t>(others, slowdown.gamma.size()) - 1]);
    }
    const double occupied = static_cast<double>(count(static_cast<std::size_t>(Load::kMessage), itself)) * 1e-9 *
                                static_cast<double>(billionths(contention.message_share)) +
                            static_cast<double>(count(static_cast<std::size_t>(Load::kCollective), itself)) * 1e-9 *
                                static_cast<double>(billionths(contention.collective_share));
    std::int64_t rate = kWhole * kWhole / slow;
    rate = rate * clock_[device] / kWhole;
    rate = rate * (kWhole - billionths(std::min(0.99, occupied))) / kWhole;
    lanes_[device].rate = std::max<std::int64_t>(1, rate);
  }

  std::int64_t allowed(double load) const {
    if (!program_.contention.clock) return kWhole;
    const auto& points = program_.contention.clock->points;
    if (load <= points.front().load) return billionths(points.front().clock);
    for (std::size_t k = 1; k < points.size(); ++k) {
      if (load >= points[k].load) continue;
      const std::int64_t low = billionths(points[k - 1].clock);
      const std::int64_t rise = billionths(points[k].clock) - low;
      const std::int64_t far = std::llround((load - points[k - 1].load) * 1e6);
      return low + rise * far / std::llround((points[k].load - points[k - 1].load) * 1e6);
    }
    return billionths(points.back().clock);
  }

  void move_clocks() {
    if (!program_.contention.clock || program_.contention.clock->period_ns == 0) return;
    if (now_ % program_.contention.clock->period_ns != 0) return;
    for (std::size_t d = 0; d < lanes_.size(); ++d) {
      const std::int64_t far = target_[d] - clock_[d];
      const std::int64_t step = far * billionths(program_.contention.clock->gain) / kWhole;
      clock_[d] += step != 0 ? step : far > 0 ? 1 : far < 0 ? -1 : 0;
    }
  }

  const Program& program_;
  TransferMode mode_;
  IndexLists order_;
  RunTimes times_;
  std::vector<ReferenceLane> lanes_;
  std::vector<std::size_t> served_;  ///< by channel
  std::vector<std::int64_t> clock_;  ///< by device, also where a node has one
  std::vector<std::int64_t> target_;
  Ticks now_ = 0;
};

}  // namespace

std::optional<RunTimes> run_longest_path(const Program& program, const SimOptions& options) {
  std::vector<bool> posted_before(program.transfers.size(), false);
  for (;;) {
    LongestPath path(program, options, posted_before);
    std::optional<RunTimes> times = path.run();
    if (!times || !program.runtime.has_calls()) return times;
    // What a call takes decides nothing that is earlier than its begin: each turn makes one more of them right.
    if (path.posted_before() == posted_before) return times;
    posted_before = path.posted_before();
  }
}

std::optional<RunTimes> run_tick_by_tick(const Program& program, TransferMode mode, Ticks patience) {
  return TickByTick(program, mode).run(patience);
}

}  // namespace plumb::testing
