#include "schedules/lowering/send_waits.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>

#include "schedules/lowering/lower_state.hpp"
#include "schedules/program/index_lists.hpp"
#include "schedules/program/waits.hpp"
#include "schedules/runnability/deadlock.hpp"

namespace plumb::lowering {
namespace {

/// Runs lane by lane, each as far as it gets; a lane that is stuck is looked at again when the one it waits for moves.
class RendezvousRun {
 public:
  explicit RendezvousRun(const Program& program)
      : program_(program),
        at_(program.lane_begin.begin(), program.lane_begin.end() - 1),
        posts_(at_.size(), false),
        stuck_on_(at_.size()),
        first_sent_(program.size() + 2, 0) {
    for (const Holder& holder : program.holders) lane_of_holder_.push_back(index(holder.device));
    for (const Channel& channel : program.channels) {
      ends_.push_back({static_cast<std::uint32_t>(index(channel.from)), static_cast<std::uint32_t>(index(channel.to)),
                       program.lane_begin[index(channel.from) + 1]});
    }
    index_sent();
  }

  bool finishes() {
    std::vector<std::size_t> ready;
    for (std::size_t lane = at_.size(); lane-- > 0;) ready.push_back(lane);
    while (!ready.empty()) {
      const std::size_t lane = ready.back();
      ready.pop_back();
      if (!advance(lane)) continue;
      ready.insert(ready.end(), stuck_on_[lane].begin(), stuck_on_[lane].end());
      stuck_on_[lane].clear();
    }
    for (std::size_t lane = 0; lane < at_.size(); ++lane) {
      if (at_[lane] != program_.lane_begin[lane + 1]) return false;
    }
    return true;
  }

 private:
  bool waited_for(std::uint32_t t) const {
    const Transfer& transfer = program_.transfers[t];
    return transfer.sent != ends_[transfer.channel].sender_end && !program_.is_move(t);
  }

  /// Transfers by the instr before which their sender waits.
  void index_sent() {
    for (std::uint32_t t = 0; t < program_.transfers.size(); ++t) {
      if (waited_for(t)) ++first_sent_[program_.transfers[t].sent + 2];
    }
    for (std::size_t i = 2; i < first_sent_.size(); ++i) first_sent_[i] += first_sent_[i - 1];
    sent_.resize(first_sent_.back());
    for (std::uint32_t t = 0; t < program_.transfers.size(); ++t) {
      if (waited_for(t)) sent_[first_sent_[program_.transfers[t].sent + 1]++] = t;
    }
  }

  InstrIndex after(InstrIndex at) const { return at + (program_.instrs[at].action.overlaps_next ? 2U : 1U); }
  std::size_t lane_of(InstrIndex at) const { return lane_of_holder_[program_.rows[program_.instrs[at].row].holder]; }

  /// Whether the lane has come to (and posted before) `post`, a member of a unit.
  bool posted(std::size_t lane, InstrIndex post) const {
    return at_[lane] > post || (posts_[lane] && post < after(at_[lane]));
  }

  /// Takes the lane as far as it gets; whether it moved or posted anything.
  bool advance(std::size_t lane) {
    bool moved = false;
    while (at_[lane] != program_.lane_begin[lane + 1]) {
      const InstrIndex end = after(at_[lane]);
      if (!posts_[lane]) {
        if (!sends_are_over(lane, end)) return moved;
        posts_[lane] = moved = true;
      }
      if (!inputs_are_there(lane, end)) return moved;
      at_[lane] = end;
      posts_[lane] = false;
      moved = true;
    }
    return moved;
  }

  bool sends_are_over(std::size_t lane, InstrIndex end) {
    for (std::uint32_t i = first_sent_[at_[lane]]; i < first_sent_[end]; ++i) {
      const Transfer& transfer = program_.transfers[sent_[i]];
      const std::size_t receiver = ends_[transfer.channel].to;
      if (!posted(receiver, transfer.post)) return hang(lane, receiver);
    }
    return true;
  }

  bool inputs_are_there(std::size_t lane, InstrIndex end) {
    const std::uint32_t last = program_.instrs[end].first_wait;
    for (std::uint32_t w = program_.instrs[at_[lane]].first_wait; w < last; ++w) {
      const Wait& wait = program_.waits[w];
      if (wait.via < program_.transfers.size()) {
        const Transfer& transfer = program_.transfers[wait.via];
        const std::size_t sender = ends_[transfer.channel].from;
        if (at_[sender] <= transfer.issue) return hang(lane, sender);
      } else if (wait.via < Wait::kLatency && (wait.via & Wait::kCollectiveBit) != 0) {
        for (const InstrIndex member : program_.collectives[wait.via & ~Wait::kCollectiveBit].members) {
          if (at_[lane_of(member)] <= member) return hang(lane, lane_of(member));
        }
      } else if (at_[lane_of(wait.source)] <= wait.source) {
        return hang(lane, lane_of(wait.source));
      }
    }
    return true;
  }

  bool hang(std::size_t lane, std::size_t on) {
    stuck_on_[on].push_back(lane);
    return false;
  }

  /// Of a channel, close together in memory.
  struct Ends {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    InstrIndex sender_end = 0;  ///< of the sender's lane
  };

  const Program& program_;
  std::vector<Ends> ends_;      ///< by channel
  std::vector<InstrIndex> at_;  ///< by lane: its next unit
  std::vector<bool> posts_;     ///< by lane: sends before that unit are over, receives posted
  std::vector<std::vector<std::size_t>> stuck_on_;
  std::vector<std::size_t> lane_of_holder_;
  std::vector<std::uint32_t> first_sent_;  ///< by instr: into `sent_`
  std::vector<std::uint32_t> sent_;
};

InstrIndex unit_behind(const Program& program, InstrIndex at) {
  return at + (program.instrs[at].action.overlaps_next ? 2U : 1U);
}

/// Posts receives earlier where a send and a receive that stand at one place, issued and completed together (batched),
/// would wait for each other's consumers: what is sent there must be posted before what is received there is needed.
void post_before_batches(Program& program, const std::vector<std::uint32_t>& rank) {
  using Place = std::tuple<DeviceId, DeviceId, InstrIndex>;  // device, its peer, where in its lane
  std::map<Place, std::uint32_t> needed;                     // the first consumer of what is received there
  for (const Transfer& transfer : program.transfers) {
    const Channel& channel = program.channels[transfer.channel];
    const auto [entry, is_new] = needed.try_emplace({channel.to, channel.from, transfer.post}, rank[transfer.consumer]);
    entry->second = std::min(entry->second, rank[transfer.consumer]);
  }
  std::vector<InstrIndex> latest(program.channels.size(), ProducerTable::kNone);
  for (std::size_t t = program.transfers.size() - program.moves.size(); t-- > 0;) {
    Transfer& transfer = program.transfers[t];
    const Channel& channel = program.channels[transfer.channel];
    const auto with = needed.find({channel.from, channel.to, unit_behind(program, transfer.issue)});
    transfer.post = std::min(transfer.post, latest[transfer.channel]);
    if (with != needed.end() && rank[transfer.post] >= with->second) {
      const auto begin = rank.begin() + program.lane_begin[index(channel.to)];
      const auto later = std::lower_bound(begin, rank.begin() + transfer.post, with->second);
      const auto at = static_cast<InstrIndex>(later - rank.begin());
      if (later != begin) transfer.post = pair_begin(program, at - 1);
    }
    latest[transfer.channel] = transfer.post;
  }
}

/// Most of the intervals [begins, ends) that have a point in common; an interval that ends where another one begins
/// makes room for it. Both are sorted here.
std::int32_t most_at_once(std::vector<InstrIndex>& begins, std::vector<InstrIndex>& ends) {
  if (!std::ranges::is_sorted(begins)) std::ranges::sort(begins);
  if (!std::ranges::is_sorted(ends)) std::ranges::sort(ends);
  std::size_t most = 0;
  std::size_t over = 0;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    while (ends[over] <= begins[i]) ++over;
    most = std::max(most, i + 1 - over);
  }
  return static_cast<std::int32_t>(most);
}

}  // namespace

std::vector<std::uint32_t> asap_ranks(const Program& program) {
  std::vector<std::uint32_t> rank(program.size(), 0);
  const auto rank_behind = [&](const Wait& wait) {
    if (wait.via < program.transfers.size()) return rank[program.transfers[wait.via].issue] + 1;
    std::uint32_t latest = rank[wait.source];
    if (wait.via < Wait::kLatency && (wait.via & Wait::kCollectiveBit) != 0) {
      for (const InstrIndex member : program.collectives[wait.via & ~Wait::kCollectiveBit].members) {
        latest = std::max(latest, rank[member]);
      }
    }
    return latest + 1;
  };
  for (const InstrIndex at : run_order(program)) {
    const std::size_t lane = index(program.holders[program.rows[program.instrs[at].row].holder].device);
    std::uint32_t& own = rank[at];
    if (at != program.lane_begin[lane]) own = rank[at - 1] + 1;
    for (std::uint32_t w = program.instrs[at].first_wait; w < program.instrs[at + 1].first_wait; ++w) {
      own = std::max(own, rank_behind(program.waits[w]));
    }
  }
  return rank;
}

bool runs_by_rendezvous(const Program& program) { return RendezvousRun(program).finishes(); }

void put_off_send_waits(Program& program) {
  program.waits_by_rank = true;
  const std::vector<std::uint32_t> rank = asap_ranks(program);
  std::vector<InstrIndex> posts;
  for (const Transfer& transfer : program.transfers) posts.push_back(transfer.post);
  post_before_batches(program, rank);
  SendBuffers& buffers = program.send_buffers;
  for (std::size_t t = 0; t < program.transfers.size() - program.moves.size(); ++t) {
    Transfer& transfer = program.transfers[t];
    const InstrIndex wanted = transfer.sent;
    const InstrIndex end = program.lane_begin[index(program.channels[transfer.channel].from) + 1];
    while (transfer.sent < end &&
           (rank[transfer.sent] <= rank[transfer.post] || starts_together(program, transfer.sent))) {
      transfer.sent = unit_behind(program, transfer.sent);
    }
    buffers.waits_moved += transfer.sent != wanted ? 1 : 0;
    buffers.receives_moved += transfer.post != posts[t] ? 1 : 0;
  }
}

std::int32_t most_send_buffers(const Program& program) {
  const std::size_t messages = program.transfers.size() - program.moves.size();
  const IndexLists by_channel =
      group_by(messages, program.channels.size(), [&](std::size_t t) { return program.transfers[t].channel; });
  std::int32_t most = 0;
  std::vector<InstrIndex> begins;
  std::vector<InstrIndex> ends;
  for (std::size_t channel = 0; channel < program.channels.size(); ++channel) {
    begins.clear();
    ends.clear();
    for (const std::uint32_t t : by_channel.of(channel)) {
      begins.push_back(pair_begin(program, program.transfers[t].producer));
      ends.push_back(program.transfers[t].sent);
    }
    most = std::max(most, most_at_once(begins, ends));
  }
  return most;
}

}  // namespace plumb::lowering
