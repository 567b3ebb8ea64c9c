#include "tests/support/reference_engine.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/topological_sort.hpp>
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

}  // namespace plumb::testing
