#include "schedules/lowering/send_waits.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>

#include "schedules/program/index_lists.hpp"
#include "schedules/program/producer_table.hpp"
#include "schedules/program/topological_order.hpp"
#include "schedules/program/waits.hpp"
#include "schedules/runnability/deadlock.hpp"

namespace plumb::lowering {
namespace {

/// Messages by the instr before which their sender waits; those awaited at the end of a lane behind all.
IndexLists awaited_sends(const Program& program) {
  return group_by(program.transfers.size() - program.moves.size(), program.size() + 1, [&](std::size_t t) {
    const Transfer& transfer = program.transfers[t];
    return is_awaited_at_end(program, transfer) ? program.size() : std::size_t{transfer.sent};
  });
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
    const auto with = needed.find({channel.from, channel.to, unit_end(program, transfer.issue)});
    transfer.post = std::min(transfer.post, latest[transfer.channel]);
    if (with != needed.end() && rank[transfer.post] >= with->second) {
      const auto begin = rank.begin() + program.lane_begin[index(channel.to)];
      const auto later = std::lower_bound(begin, rank.begin() + transfer.post, with->second);
      const auto at = static_cast<InstrIndex>(later - rank.begin());
      if (later != begin) transfer.post = unit_begin(program, at - 1);
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
  for (const InstrIndex at : run_order(program)) {
    const std::size_t lane = index(program.holders[program.rows[program.instrs[at].row].holder].device);
    std::uint32_t& own = rank[at];
    if (at != program.lane_begin[lane]) own = rank[at - 1] + 1;
    all_waits(program, at, at + 1, [&](const Wait& wait) {
      return all_sources(program, wait, [&](InstrIndex source) {
        own = std::max(own, rank[source] + 1);
        return true;
      });
    });
  }
  return rank;
}

bool runs_by_rendezvous(const Program& program) {
  std::vector<std::int32_t> posted(program.size(), UntimedRun::kUnknown);
  const IndexLists sends = awaited_sends(program);
  const auto sends_and_posts = [&](UntimedRun& run, std::uint32_t lane, InstrIndex first, InstrIndex end) {
    if (UntimedRun::is_known(posted[first])) return true;
    for (InstrIndex i = first; i != end; ++i) {
      for (const std::uint32_t t : sends.of(i)) {
        if (run.waits(lane, posted[program.transfers[t].post])) return false;
      }
    }
    for (InstrIndex i = first; i != end; ++i) run.set(posted[i], kHasCome);
    return true;
  };
  return run_untimed(program, sends_and_posts, [](std::uint32_t, InstrIndex, InstrIndex) {});
}

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
      transfer.sent = unit_end(program, transfer.sent);
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
      begins.push_back(unit_begin(program, program.transfers[t].producer));
      ends.push_back(program.transfers[t].sent);
    }
    most = std::max(most, most_at_once(begins, ends));
  }
  return most;
}

}  // namespace plumb::lowering
