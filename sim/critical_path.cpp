#include "sim/critical_path.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/costs/time_limits.hpp"
#include "models/ground/error.hpp"
#include "schedules/lowering/time_limit.hpp"
#include "schedules/program/waits.hpp"
#include "sim/run_program.hpp"

namespace plumb {
namespace {

/// "F", or "F+B" for an overlapped pair.
std::string kind_of(const Program& program, InstrIndex at) {
  const Row& row = program.rows[program.instrs[at].row];
  std::string kind(kOpNames[static_cast<std::size_t>(row.op)]);
  if (row.overlapped) kind += "+" + std::string(kOpNames[static_cast<std::size_t>(program.instrs[at + 1].action.op)]);
  return kind;
}

/// Walks from the last end back to 0. Every step finds something that was over at exactly the moment in hand.
class BackwardWalk {
 public:
  BackwardWalk(const ProgramIndex& indexed, const RunTimes& times, const SimOptions& options)
      : program_(indexed.program()), times_(times), mode_(options.transfers), rules_(rules_of(options.transfers)) {
    if (program_.transfers.empty()) return;
    sent_ = &indexed.sent();
    if (rules_.blocks_lane) issued_ = &indexed.issued();
    batches_ = batches_of(program_, mode_);
  }

  std::vector<CriticalPiece> run() {
    from_last_end();
    std::ranges::reverse(pieces_);
    return std::move(pieces_);
  }

 private:
  InstrIndex lane_begin(InstrIndex i) const {
    return program_.lane_begin[index(program_.holders[program_.rows[program_.instrs[i].row].holder].device)];
  }
  /// First instr of the unit before the one that begins with `first`.
  std::optional<InstrIndex> unit_before(InstrIndex first) const {
    if (first == lane_begin(first)) return std::nullopt;
    return plumb::unit_before(program_, first);
  }

  void add(CriticalKind kind, std::uint32_t what, Ticks start, Ticks end) {
    if (start != end) pieces_.push_back({kind, what, start, end});
  }

  void from_last_end() {
    const auto last = std::ranges::max_element(times_.end);
    const auto collective = std::ranges::max_element(times_.collective_end);
    if (collective != times_.collective_end.end() && (last == times_.end.end() || *collective > *last)) {
      next_ = before_collective(static_cast<std::uint32_t>(collective - times_.collective_end.begin()));
    } else if (last != times_.end.end()) {
      next_ = static_cast<InstrIndex>(last - times_.end.begin());
    }
    while (next_) next_ = before_end(*next_);
  }

  /// The instr at whose end everything that made `i` end when it did was decided; pieces between are added.
  std::optional<InstrIndex> before_end(InstrIndex i) {
    const InstrIndex first = unit_begin(program_, i);
    add(CriticalKind::kCompute, first, times_.start[first], times_.end[first]);
    return before_start(first);
  }

  std::optional<InstrIndex> before_start(InstrIndex first) {
    const Ticks start = times_.start[first];
    const auto previous = unit_before(first);
    if ((previous ? times_.end[*previous] : 0) == start) return previous;
    const InstrIndex end = unit_end(program_, first);
    for (const Wait& wait : waits_of(program_, first, end)) {
      if (over_at(program_, times_, wait) == start) return before_over(wait);
    }
    return times_.ready.empty() ? before_post(first, start) : before_host(first, start, true);
  }

  std::optional<InstrIndex> before_over(const Wait& wait) {
    if (is_for_transfer(wait)) return before_available(wait.via);
    if (is_for_collective(wait)) return before_collective(collective_of(wait));
    const Ticks end = times_.end[wait.source];
    add(CriticalKind::kLatency, wait.source, end, end + plumb::latency_of(program_, wait));
    return wait.source;
  }

  std::optional<InstrIndex> before_collective(std::uint32_t c) {
    const Collective& collective = program_.collectives[c];
    const Ticks joined = times_.collective_end[c] - collective.duration;
    add(CriticalKind::kCollective, c, joined, times_.collective_end[c]);
    std::optional<InstrIndex> last;
    for (const InstrIndex member : collective.members) {
      if (times_.end[member] == joined) last = std::min(last.value_or(member), member);
    }
    assert(last);
    return last;
  }

  /// Where the runtime costs something: the lane had come to `moment` on its way to the start of `first`;
  /// `behind_sends`: to what comes after the waits for sends there.
  std::optional<InstrIndex> before_host(InstrIndex first, Ticks moment, bool behind_sends) {
    const auto previous = unit_before(first);
    Ticks latest = previous ? (times_.issued.empty() ? times_.end[*previous] : times_.issued[*previous]) : 0;
    std::optional<std::uint32_t> own;   // a message issued before, whose arrival the lane waited for
    std::optional<std::uint32_t> sent;  // one that it waited for here
    for (InstrIndex i = previous.value_or(first); rules_.blocks_lane && issued_ != nullptr && i != first; ++i) {
      for (const std::uint32_t t : issued_->of(i)) {
        if (program_.is_move(t) || times_.transfers[t].available <= latest) continue;
        latest = times_.transfers[t].available;
        own = t;
      }
    }
    for (InstrIndex i = first; behind_sends && sent_ != nullptr && i != unit_end(program_, first); ++i) {
      for (const std::uint32_t t : sent_->of(i)) {
        if (times_.sent(t) <= latest || times_.sent(t) > moment) continue;
        latest = times_.sent(t);
        sent = t;
      }
    }
    const Ticks from = sent || own ? latest : previous ? times_.end[*previous] : 0;
    add(CriticalKind::kHost, first, from, moment);
    if (sent) return before_sent(*sent);
    return own ? before_available(*own) : previous;
  }

  /// The lane had reached `first` and its sends were done with at `moment`.
  std::optional<InstrIndex> before_post(InstrIndex first, Ticks moment) {
    const auto previous = unit_before(first);
    if (!previous || times_.end[*previous] == moment) return previous;
    for (InstrIndex i = first; i != unit_end(program_, first); ++i) {
      for (const std::uint32_t t : sent_->of(i)) {
        if (times_.sent(t) == moment) return before_sent(t);
      }
    }
    return before_reach(first, moment);
  }

  std::optional<InstrIndex> before_reach(InstrIndex first, Ticks moment) {
    const auto previous = unit_before(first);
    if (!previous || times_.end[*previous] == moment || !rules_.blocks_lane) return previous;
    for (InstrIndex i = *previous; i != first; ++i) {
      for (const std::uint32_t t : issued_->of(i)) {
        if (times_.transfers[t].available == moment) return before_available(t);
      }
    }
    return previous;
  }

  Ticks latency_of(std::uint32_t t) const {
    return latency_time(program_.channels[program_.transfers[t].channel].route, program_.base);
  }

  std::optional<InstrIndex> before_available(std::uint32_t t) {
    const TransferTimes& times = times_.transfers[t];
    if (times.done + latency_of(t) != times.available) return before_batch_end(batches_.of_receive[t], times.available);
    add(CriticalKind::kLatency, t, times.done, times.available);
    return before_done(t);
  }

  std::optional<InstrIndex> before_sent(std::uint32_t t) {
    const Ticks sent = times_.sent(t);
    if (times_.transfers[t].done != sent) return before_batch_end(batches_.of_send[t], sent);
    return before_done(t);
  }

  /// The member that made the batch end at `moment`.
  std::optional<InstrIndex> before_batch_end(std::uint32_t batch, Ticks moment) {
    for (std::uint32_t t = 0; t < program_.transfers.size(); ++t) {
      const TransferTimes& times = times_.transfers[t];
      if (batches_.of_send[t] == batch && times.done == moment) return before_done(t);
      if (batches_.of_receive[t] == batch && times.done + latency_of(t) == moment) {
        add(CriticalKind::kLatency, t, times.done, moment);
        return before_done(t);
      }
    }
    assert(false && "a batch ends with a member");
    return std::nullopt;
  }

  std::optional<InstrIndex> before_done(std::uint32_t t) {
    std::optional<std::uint32_t> earlier = t;
    while (earlier) {
      t = *earlier;
      add(CriticalKind::kSending, t, times_.transfers[t].start, times_.transfers[t].done);
      const InstrIndex offered = offered_by(program_.transfers[t], mode_);
      const Ticks called = times_.called.empty() ? times_.end[offered] : times_.called[t];
      if (called == times_.transfers[t].start) {
        add(CriticalKind::kHost, offered, times_.end[offered], called);
        return offered;
      }
      earlier = in_front_of(t);
    }
    const InstrIndex receiver = unit_begin(program_, program_.transfers[t].post);
    const bool in_batch = rules_.batches && batches_.of_receive[t] != Batches::kNone;
    const Ticks posted = times_.transfers[t].start;
    if (!times_.issued.empty()) return before_host(receiver, posted, !in_batch);
    return in_batch ? before_reach(receiver, posted) : before_post(receiver, posted);
  }

  /// The message whose end let `t` start: the one before it in its channel or, half duplex, one of the other direction.
  std::optional<std::uint32_t> in_front_of(std::uint32_t t) {
    if (order_.items.empty()) order_ = service_order(program_, mode_);
    const std::uint32_t c = program_.transfers[t].channel;
    const Ticks start = times_.transfers[t].start;
    const auto queue = order_.of(c);
    const auto place =
        std::ranges::lower_bound(queue, start, {}, [&](std::uint32_t m) { return times_.transfers[m].start; });
    const auto self = std::find(place, queue.end(), t);
    if (self != queue.begin() && times_.transfers[*std::prev(self)].done == start) return *std::prev(self);
    if (rules_.pair_queues && !program_.is_move(t)) {
      if (queues_.before_send.empty()) queues_ = pair_queues_of(program_, mode_);
      for (const std::uint32_t other : {queues_.before_send[t], queues_.before_receive[t]}) {
        if (other != PairQueues::kNone && times_.transfers[other].done == start) return other;
      }
    }
    const Channel& channel = program_.channels[c];
    if (!channel.route.half_duplex) return std::nullopt;
    for (std::uint32_t other = 0; other < program_.transfers.size(); ++other) {
      const Channel& way = program_.channels[program_.transfers[other].channel];
      const TransferTimes& times = times_.transfers[other];
      const bool opposite = way.from == channel.to && way.to == channel.from;
      if (opposite && times.done == start && times.start < start) return other;
    }
    return std::nullopt;
  }

  const Program& program_;
  const RunTimes& times_;
  TransferMode mode_;
  TransferRules rules_;
  const IndexLists* sent_ = nullptr;    ///< with transfers only
  const IndexLists* issued_ = nullptr;  ///< blocking mode with transfers only
  IndexLists order_;                    ///< transfers by channel, as served; made when first needed
  PairQueues queues_;                   ///< likewise
  Batches batches_;
  std::optional<InstrIndex> next_;
  std::vector<CriticalPiece> pieces_;
};

std::string kind_of(const Program& program, const CriticalPiece& piece) {
  const auto named = [](IdleCause cause) { return std::string(kIdleCauseNames[static_cast<std::size_t>(cause)]); };
  switch (piece.kind) {
    case CriticalKind::kCompute:
      return kind_of(program, piece.what);
    case CriticalKind::kLatency:
      return named(IdleCause::kTransferLatency);
    case CriticalKind::kSending:
      return named(IdleCause::kTransferBandwidth);
    case CriticalKind::kQueue:
      return named(IdleCause::kTransferQueue);
    case CriticalKind::kCollective:
      return named(IdleCause::kCollective);
    case CriticalKind::kHost:
      return named(IdleCause::kOverhead);
  }
  return "";
}

/// The kind of action that every row belongs to. The row of the second half of a pair, which takes no time, has the
/// name of its own op.
std::vector<std::string> kinds_of_rows(const Program& program) {
  std::vector<std::string> kinds;
  for (const Row& row : program.rows) kinds.emplace_back(kOpNames[static_cast<std::size_t>(row.op)]);
  for (InstrIndex at = 0; at < program.size(); ++at) {
    const std::uint32_t row = program.instrs[at].row;
    if (program.rows[row].overlapped) kinds[row] = kind_of(program, at);
  }
  return kinds;
}

}  // namespace

std::vector<CriticalPiece> critical_path(const ProgramIndex& indexed, const RunTimes& times,
                                         const SimOptions& options) {
  return BackwardWalk(indexed, times, options).run();
}

std::vector<CriticalShare> critical_shares(const Program& program, const std::vector<CriticalPiece>& path) {
  std::map<std::string, Ticks> by_kind;
  for (const CriticalPiece& piece : path) by_kind[kind_of(program, piece)] += piece.end - piece.start;
  std::vector<CriticalShare> shares;
  shares.reserve(by_kind.size());
  for (const auto& [kind, ticks] : by_kind) shares.push_back({kind, ticks});
  std::ranges::stable_sort(shares, std::greater{}, &CriticalShare::ticks);
  return shares;
}

Ticks makespan_if(const Program& program, const SimOptions& options, std::string_view kind, double factor) {
  if (!(factor >= 0)) throw Error("factor " + std::to_string(factor) + ": expected at least 0");
  Program changed = program;
  const std::vector<std::string> of_row = kinds_of_rows(program);
  for (std::size_t row = 0; row < program.rows.size(); ++row) {
    if (of_row[row] != kind) continue;
    const double wanted = static_cast<double>(program.durations[row]) * factor;
    changed.durations[row] = wanted <= static_cast<double>(kMostRun) ? std::llround(wanted) : kMostRun + 1;
  }
  const std::set<std::string_view> kinds(of_row.begin(), of_row.end());
  if (!kinds.contains(kind)) {
    throw_unknown("kind of action", kind, std::vector<std::string_view>(kinds.begin(), kinds.end()));
  }
  check_time(changed, "what if " + std::string(kind) + " takes longer");
  return run_program(ProgramIndex(changed), options).makespan;
}

}  // namespace plumb
