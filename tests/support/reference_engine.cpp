#include "tests/support/reference_engine.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/topological_sort.hpp>
#include <iterator>
#include <vector>

#include "sim/jitter.hpp"
#include "sim/transfer_semantics.hpp"

namespace plumb::testing {
namespace {

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property,
                                    boost::property<boost::edge_weight_t, Ticks>>;
using Moment = Graph::vertex_descriptor;

/// The moments of a unit of a lane. Both members of a pair have the same.
struct UnitMoments {
  Moment reach = 0;
  Moment post = 0;
  Moment start = 0;
  Moment end = 0;
};

struct MessageMoments {
  Moment start = 0;
  Moment done = 0;
  Moment available = 0;
  Moment sent = 0;
};

class LongestPath {
 public:
  LongestPath(const Program& program, const SimOptions& options)
      : program_(program), options_(options), rules_(rules_of(options.transfers)) {}

  std::optional<RunTimes> run() {
    for (std::size_t d = 0; d + 1 < program_.lane_begin.size(); ++d) add_lane(d);
    messages_.resize(program_.transfers.size());
    for (MessageMoments& m : messages_) m = {add(), add(), add(), add()};
    for (std::size_t c = 0; c < program_.collectives.size(); ++c) add_collective(c);
    for (InstrIndex i = 0; i < program_.size(); ++i) add_waits(i);
    for (std::uint32_t t = 0; t < program_.transfers.size(); ++t) add_message(t);
    add_service_order();
    add_pair_queues();
    add_batches();
    return solve();
  }

 private:
  Moment add() { return boost::add_vertex(graph_); }
  void after(Moment later, Moment earlier, Ticks delay = 0) { boost::add_edge(earlier, later, delay, graph_); }

  void add_lane(std::size_t device) {
    const InstrIndex end = program_.lane_begin[device + 1];
    for (InstrIndex i = program_.lane_begin[device]; i < end;) {
      const bool pair = program_.rows[program_.instrs[i].row].overlapped;
      const UnitMoments unit{add(), add(), add(), add()};
      after(unit.post, unit.reach);
      after(unit.start, unit.post);
      after(unit.end, unit.start, duration_of(program_, i, DeviceId{static_cast<std::int32_t>(device)}, options_.seed));
      if (i > program_.lane_begin[device]) after(unit.reach, units_.back().end);
      units_.push_back(unit);
      if (pair) units_.push_back(unit);
      i += pair ? 2 : 1;
    }
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
    after(m.start, units_[rules_.in_issue_order ? transfer.issue : transfer.producer].end);
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

  /// Batches, and with them the posting of receives, which depends on them.
  void add_batches() {
    if (!rules_.needs_post) return;
    const Batches batches = batches_of(program_, options_.transfers);
    std::vector<Moment> ends;
    for (std::size_t b = 0; b < batches.size.size(); ++b) ends.push_back(add());
    for (std::uint32_t t = 0; t < program_.transfers.size(); ++t) {
      const MessageMoments& m = messages_[t];
      const UnitMoments& posted = units_[program_.transfers[t].post];
      const bool receive = rules_.batches && batches.of_receive[t] != Batches::kNone;
      after(m.start, receive ? posted.reach : posted.post);
      if (receive) {
        const Ticks latency = latency_time(program_.channels[program_.transfers[t].channel].route, program_.base);
        after(ends[batches.of_receive[t]], m.done, latency);
        after(m.available, ends[batches.of_receive[t]]);
      }
      if (rules_.batches && batches.of_send[t] != Batches::kNone) {
        after(ends[batches.of_send[t]], m.done);
        after(m.sent, ends[batches.of_send[t]]);
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
    std::vector<Ticks> at(boost::num_vertices(graph_), 0);
    const auto delays = boost::get(boost::edge_weight, graph_);
    for (auto moment = order.rbegin(); moment != order.rend(); ++moment) {
      for (const auto edge : boost::make_iterator_range(boost::out_edges(*moment, graph_))) {
        Ticks& later = at[boost::target(edge, graph_)];
        later = std::max(later, at[*moment] + delays[edge]);
      }
    }
    RunTimes times;
    for (const UnitMoments& unit : units_) {
      times.start.push_back(at[unit.start]);
      times.end.push_back(at[unit.end]);
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
  Graph graph_;
  std::vector<UnitMoments> units_;  ///< by instr
  std::vector<MessageMoments> messages_;
  std::vector<Moment> collectives_;
};

}  // namespace

std::optional<RunTimes> run_longest_path(const Program& program, const SimOptions& options) {
  return LongestPath(program, options).run();
}

}  // namespace plumb::testing
