#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/lowering/lower_state.hpp"
#include "schedules/lowering/send_waits.hpp"
#include "schedules/program/waits.hpp"

namespace plumb::lowering {
namespace {

bool moves_weights(const Action& action) { return static_cast<std::int32_t>(action.microbatch) < 0; }

/// Whether both name the same stage, replica and, for a stash, the same slice of the same microbatch.
bool same_thing(const Action& a, const Action& b) {
  if (a.stage != b.stage || a.replica != b.replica || moves_weights(a) != moves_weights(b)) return false;
  return moves_weights(a) || (a.microbatch == b.microbatch && a.slice == b.slice);
}

/// Whether `action` reads what `load` brings.
bool reads(const Action& action, const Action& load) {
  if (action.stage != load.stage || action.replica != load.replica) return false;
  const bool backward = is_backward(action.op) || action.op == Op::kR || action.op == Op::kW;
  if (moves_weights(load)) {
    return action.op == Op::kF || is_backward(action.op) || action.op == Op::kR || action.op == Op::kU;
  }
  const std::size_t slice = load.slice == Action::kAllSlices ? 0 : static_cast<std::size_t>(load.slice);
  return backward && names(action, index(load.microbatch), slice);
}

Ticks given_time(const StageTimes& times, Op op) { return op == Op::kEvict ? times.evict : times.load; }

/// The channels over which stashes and weights move (schedules/program/move.hpp): one of each device, direction and
/// other side, from the device to itself.
class CopyLanes {
 public:
  explicit CopyLanes(State& state) : state_(state), program_(state.program) {}

  /// Sets the transfer's channel, and its bytes: `bytes` where the copy takes a link of the cluster; the ticks of the
  /// given time, at one byte per tick, otherwise.
  void send(Transfer& transfer, DeviceId device, const Action& move, DeviceId guest, std::int64_t bytes);

  /// Copies between two devices share the link of the pair with all else that is on it.
  void share_links();

 private:
  using Key = std::tuple<DeviceId, Op, DeviceId>;

  /// A copy over a link of its own between two devices.
  struct Way {
    std::uint32_t channel = 0;
    DeviceId from{};
    DeviceId to{};
    bool half_duplex = false;
  };

  bool takes_link(const StageTimes& times, Op op, DeviceId guest) const;
  std::uint32_t lane(const Key& key, bool on_link);
  std::vector<std::uint32_t> channels_on(const Way& way) const;

  State& state_;
  Program& program_;
  std::map<std::pair<Key, bool>, std::uint32_t> lanes_;
  std::vector<Way> ways_;
};

bool CopyLanes::takes_link(const StageTimes& times, Op op, DeviceId guest) const {
  if (!state_.has_transfers() || (given_time(times, op) != 0 && !state_.costs.from_network)) return false;
  return guest != Move::kHost || (state_.cluster != nullptr && state_.cluster->host_link.bytes_per_s > 0);
}

void CopyLanes::send(Transfer& transfer, DeviceId device, const Action& move, DeviceId guest, std::int64_t bytes) {
  const StageTimes& times = state_.costs.times[index(move.stage)];
  const bool on_link = takes_link(times, move.op, guest);
  transfer.channel = lane({device, move.op, guest}, on_link);
  transfer.bytes = on_link ? bytes : given_time(times, move.op);
}

std::uint32_t CopyLanes::lane(const Key& key, bool on_link) {
  const auto [entry, is_new] = lanes_.try_emplace({key, on_link}, static_cast<std::uint32_t>(program_.channels.size()));
  if (!is_new) return entry->second;
  const auto& [device, op, guest] = key;
  Channel channel{device, device, {}};
  if (!on_link) {
    channel.route.bytes_per_s = 1e9 * static_cast<double>(program_.base.ticks_per_ns);
  } else if (guest == Move::kHost) {
    channel.route = state_.cluster->host_route(device, op == Op::kEvict);
  } else {
    const auto [from, to] = op == Op::kEvict ? std::pair(device, guest) : std::pair(guest, device);
    channel.route = state_.route(from, to);
    const bool half_duplex = std::exchange(channel.route.half_duplex, false);
    if (channel.route.shared.empty()) ways_.push_back({entry->second, from, to, half_duplex});
  }
  program_.channels.push_back(std::move(channel));
  return entry->second;
}

/// Channels whose messages and copies go over the link of `way`.
std::vector<std::uint32_t> CopyLanes::channels_on(const Way& way) const {
  const auto same = [&](DeviceId from, DeviceId to) {
    return (from == way.from && to == way.to) || (way.half_duplex && from == way.to && to == way.from);
  };
  std::vector<std::uint32_t> channels;
  for (std::uint32_t c = 0; c < program_.channels.size(); ++c) {
    if (same(program_.channels[c].from, program_.channels[c].to)) channels.push_back(c);
  }
  for (const Way& other : ways_) {
    if (same(other.from, other.to)) channels.push_back(other.channel);
  }
  return channels;
}

void CopyLanes::share_links() {
  for (const Way& way : ways_) {
    const std::vector<std::uint32_t> channels = channels_on(way);
    const bool is_shared = !program_.channels[way.channel].route.shared.empty();
    if (is_shared || channels.size() < 2) continue;
    const auto link = static_cast<std::int32_t>(program_.shared_links.size());
    const auto name = [](DeviceId device) { return std::to_string(index(device)); };
    program_.shared_links.push_back({"device" + name(way.from) + (way.half_duplex ? "-" : ">") + name(way.to),
                                     program_.channels[way.channel].route.bytes_per_s});
    for (const std::uint32_t channel : channels) program_.channels[channel].route.shared.push_back(link);
  }
}

class MoveWriter {
 public:
  explicit MoveWriter(State& state) : state_(state), program_(state.program), lanes_(state) {}

  void write() {
    for (const auto& [consumer, load] : state_.load_waits) consumer_of_[load] = consumer;
    for (std::size_t device = 0; device + 1 < program_.lane_begin.size(); ++device) {
      write_lane(DeviceId{static_cast<std::int32_t>(device)});
    }
    for (std::uint32_t w = 0; w < program_.waits.size(); ++w) {
      if (program_.waits[w].via == kPendingMove) program_.waits[w].via = transfer_of_.at(program_.waits[w].source);
    }
    lanes_.share_links();
    place_guests();
  }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;

  const Action& action(InstrIndex at) const { return program_.instrs[at].action; }
  std::uint32_t holder(InstrIndex at) const { return program_.rows[program_.instrs[at].row].holder; }

  void write_lane(DeviceId device) {
    const InstrIndex begin = program_.lane_begin[index(device)];
    const InstrIndex end = program_.lane_begin[index(device) + 1];
    std::uint32_t flying = kNone;   // the EVICT whose end nobody has waited for
    std::set<std::uint32_t> moved;  // holders whose weights have been moved before
    for (InstrIndex at = begin; at < end; ++at) {
      if (!is_move(action(at).op)) continue;
      const bool evicts = action(at).op == Op::kEvict;
      if (moves_weights(action(at)) && moved.insert(holder(at)).second && !evicts) {
        program_.holders[holder(at)].weights_start_away = true;
      }
      if (flying != kNone && (evicts || same_thing(action(program_.transfers[flying].issue), action(at)))) {
        program_.transfers[flying].sent = at;
        flying = kNone;
      }
      const std::uint32_t transfer = add(device, at, end);
      if (evicts) flying = transfer;
    }
  }

  /// Adds the move of the instr, and its transfer; returns the transfer's index.
  std::uint32_t add(DeviceId device, InstrIndex at, InstrIndex lane_end) {
    Transfer transfer;
    transfer.producer = transfer.issue = transfer.post = transfer.consumer = at;
    transfer.sent = lane_end;
    if (const auto consumer = consumer_of_.find(at); consumer != consumer_of_.end()) {
      transfer.consumer = consumer->second;
      transfer.sent = unit_begin(program_, consumer->second);
    }
    const auto number = static_cast<std::uint32_t>(program_.transfers.size());
    Move move = describe(at);
    move.transfer = number;
    lanes_.send(transfer, device, action(at), move.guest, move.bytes);
    transfer_of_[at] = number;
    program_.transfers.push_back(transfer);
    program_.moves.push_back(move);
    return number;
  }

  Move describe(InstrIndex at) const {
    const Action& what = action(at);
    Move move;
    move.weights = moves_weights(what);
    if (what.where >= 0) {
      if (what.where >= program_.num_devices || DeviceId{what.where} == program_.holders[holder(at)].device) {
        throw CannotRun(to_string(what) + ": expected another device, 0 to " +
                        std::to_string(program_.num_devices - 1) + ", or @host");
      }
      move.guest = DeviceId{what.where};
    }
    if (move.weights) {
      move.bytes = program_.memory.empty() ? 0 : program_.memory[index(what.stage)].weight_bytes;
      return move;
    }
    move.input_only = dropped(at);
    program_.parts.for_each(what, [&](std::size_t, std::size_t, std::size_t part) {
      if (!program_.memory.empty()) move.bytes += kept_bytes(program_.memory_of(what.stage, part), move.input_only);
    });
    return move;
  }

  /// Whether recompute has dropped the stash: the row of its F says so.
  bool dropped(InstrIndex at) const {
    Action forward = action(at);
    forward.op = Op::kF;
    const InstrIndex made_by = state_.producers.find(forward);
    return made_by != ProducerTable::kNone && program_.rows[program_.instrs[made_by].row].recompute;
  }

  /// A guest holds what came from an EVICT from its first instr of a later rank on, until its first one of the rank of
  /// the LOAD, or to the end.
  void place_guests() {
    const bool any = std::any_of(program_.moves.begin(), program_.moves.end(),
                                 [](const Move& move) { return move.guest != Move::kHost; });
    if (!any) return;
    const std::vector<std::uint32_t> rank = asap_ranks(program_);
    for (std::size_t i = 0; i < program_.moves.size(); ++i) {
      Move& move = program_.moves[i];
      const Transfer& evict = program_.transfers[move.transfer];
      if (move.guest == Move::kHost || action(evict.issue).op != Op::kEvict) continue;
      const InstrIndex end = program_.lane_begin[index(move.guest) + 1];
      move.held_from = first_of_rank(rank, move.guest, rank[evict.issue] + 1);
      move.held_until = end;
      for (std::size_t later = i + 1; later < program_.moves.size(); ++later) {
        const Transfer& load = program_.transfers[program_.moves[later].transfer];
        if (action(load.issue).op != Op::kLoad || !same_thing(action(evict.issue), action(load.issue))) continue;
        move.held_until = first_of_rank(rank, move.guest, rank[load.issue]);
        break;
      }
    }
  }

  InstrIndex first_of_rank(const std::vector<std::uint32_t>& rank, DeviceId device, std::uint32_t least) const {
    const auto begin = rank.begin() + program_.lane_begin[index(device)];
    const auto end = rank.begin() + program_.lane_begin[index(device) + 1];
    const auto found = std::lower_bound(begin, end, least);
    const auto at = static_cast<InstrIndex>(found - rank.begin());
    return found == end ? at : unit_begin(program_, at);
  }

  State& state_;
  Program& program_;
  CopyLanes lanes_;
  std::map<InstrIndex, InstrIndex> consumer_of_;     ///< by LOAD: the first action that reads what it brings
  std::map<InstrIndex, std::uint32_t> transfer_of_;  ///< by the instr of the move
};

}  // namespace

void find_load_waits(State& state) {
  const Program& program = state.program;
  for (std::size_t device = 0; device + 1 < program.lane_begin.size(); ++device) {
    const InstrIndex end = program.lane_begin[device + 1];
    for (InstrIndex at = program.lane_begin[device]; at < end; ++at) {
      const Action& load = program.instrs[at].action;
      if (load.op != Op::kLoad) continue;
      InstrIndex consumer = at + 1;
      while (consumer < end && !reads(program.instrs[consumer].action, load)) ++consumer;
      if (consumer < end) state.load_waits.emplace_back(consumer, at);
    }
  }
  std::sort(state.load_waits.begin(), state.load_waits.end());
}

void add_moves(State& state) { MoveWriter(state).write(); }

}  // namespace plumb::lowering
