#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "schedules/lowering/lower_state.hpp"
#include "schedules/program/program.hpp"
#include "schedules/program/waits.hpp"

namespace plumb::lowering {
namespace {

/// Where receives stand when they are posted as their sends are issued, by transfer: PyTorch's lowering, which visits
/// the devices in turn, takes at most one ready action (pair) of each, and appends the receive of what it makes to the
/// receiver's list at that moment. Needs waits and transfers with producer, consumer, issue and channel.
class ReceiveRounds {
 public:
  explicit ReceiveRounds(const Program& program)
      : program_(program),
        at_(program.lane_begin.begin(), program.lane_begin.end() - 1),
        next_send_(at_.size(), 0),
        posted_(program.transfers.size(), kNotPosted) {
    for (std::uint32_t i = 0; i < program.transfers.size(); ++i) {
      const std::size_t from = index(program.channels[program.transfers[i].channel].from);
      if (i == 0 || index(program.channels[program.transfers[i - 1].channel].from) != from) next_send_[from] = i;
    }
  }

  std::vector<InstrIndex> run() {
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t device = 0; device < at_.size(); ++device) progress = visit(device) || progress;
    }
    return std::move(posted_);
  }

 private:
  static constexpr InstrIndex kNotPosted = 0xFFFFFFFFU;

  bool visit(std::size_t device) {
    const InstrIndex first = at_[device];
    if (first == program_.lane_begin[device + 1]) return false;
    const InstrIndex end = unit_end(program_, first);
    const auto is_posted = [&](const Wait& wait) { return !is_for_transfer(wait) || posted_[wait.via] != kNotPosted; };
    if (!all_waits(program_, first, end, is_posted)) return false;
    at_[device] = end;
    for (std::uint32_t& send = next_send_[device]; send < posted_.size(); ++send) {
      const Transfer& transfer = program_.transfers[send];
      const Channel& channel = program_.channels[transfer.channel];
      if (index(channel.from) != device || transfer.issue >= end) break;
      posted_[send] = at_[index(channel.to)];
    }
    return true;
  }

  const Program& program_;
  std::vector<InstrIndex> at_;            ///< by device: the step it takes next
  std::vector<std::uint32_t> next_send_;  ///< by device: its next message
  std::vector<InstrIndex> posted_;        ///< by transfer
};

/// A wait between devices on its way to become a transfer.
struct Edge {
  InstrIndex consumer = 0;
  std::uint32_t wait = 0;
};

/// Finds the explicit SEND or RECV of a value.
class ExplicitTable {
 public:
  ExplicitTable(const State& state, std::vector<ExplicitTransfer>& transfers)
      : transfers_(transfers),
        first_(state.schedule.num_stages, state.schedule.num_microbatches,
               static_cast<std::int32_t>(state.parts.most_slices())) {
    for (std::uint32_t i = 0; i < transfers.size(); ++i) {
      const Action value = value_of(transfers[i].action);
      transfers[i].next = first_.find(value);
      first_.set(value, i);
    }
  }

  /// The entry for the value that `action` makes or takes, sent to (or from) `peer`; kNone when the document has none.
  /// `other` takes or makes it: a value is identified by the first microbatch and slice that both name.
  std::uint32_t find(const Action& action, const Action& other, DeviceId peer) const {
    if (transfers_.empty()) return ProducerTable::kNone;
    Action value = action;
    value.merged = 0;
    value.microbatch = std::max(action.microbatch, other.microbatch);
    if (value.slice == Action::kAllSlices) value.slice = other.slice;
    std::uint32_t any = first_.find(value);
    for (std::uint32_t i = any; i != ProducerTable::kNone; i = transfers_[i].next) {
      if (transfers_[i].action.where == static_cast<std::int16_t>(peer)) return i;
    }
    return any;
  }

 private:
  static Action value_of(Action action) {
    const bool forward = action.op == Op::kSendF || action.op == Op::kRecvF;
    const bool backward = action.op == Op::kSendB || action.op == Op::kRecvB;
    action.op = forward ? Op::kF : backward ? Op::kB : Op::kR;
    return action;
  }

  const std::vector<ExplicitTransfer>& transfers_;
  ProducerTable first_;
};

class TransferWriter {
 public:
  explicit TransferWriter(State& state)
      : state_(state), program_(state.program), sends_(state, state.sends), receives_(state, state.receives) {}

  void write() {
    collect_edges();
    find_devices();
    for (std::size_t i = 0; i < edges_.size(); ++i) add(edges_[i]);
    if (!state_.sends.empty()) order_by_issue();
    name_channels();
    place_receives();
    place_send_waits();
  }

 private:
  /// Edges in order of producer, then of consumer.
  void collect_edges() {
    std::vector<std::uint32_t> next(program_.instrs.size() + 1, 0);
    for (const Wait& wait : program_.waits) {
      if (wait.via == kPendingTransfer) ++next[wait.source + 1];
    }
    for (std::size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
    edges_.resize(next.back());
    for (InstrIndex at = 0; at < program_.size(); ++at) {
      for (std::uint32_t wait = program_.instrs[at].first_wait; wait < program_.instrs[at + 1].first_wait; ++wait) {
        if (program_.waits[wait].via == kPendingTransfer) edges_[next[program_.waits[wait].source]++] = {at, wait};
      }
    }
  }

  void find_devices() {
    device_of_.reserve(program_.holders.size());
    for (const Holder& holder : program_.holders) device_of_.push_back(holder.device);
  }

  DeviceId device(InstrIndex at) const { return device_of_[program_.rows[program_.instrs[at].row].holder]; }
  InstrIndex lane_begin(DeviceId of) const { return program_.lane_begin[index(of)]; }
  InstrIndex lane_end(DeviceId of) const { return program_.lane_begin[index(of) + 1]; }

  void add(const Edge& edge) {
    const Wait& wait = program_.waits[edge.wait];
    const Action producer = program_.work_of(wait.source);
    const Action consumer = program_.work_of(edge.consumer);
    const bool weights = producer.op == Op::kX && program_.rows[program_.instrs[wait.source].row].taught < 0;
    Transfer transfer;
    transfer.producer = wait.source;
    transfer.consumer = edge.consumer;
    transfer.issue = issue(wait.source, edge.consumer);
    const bool given = state_.costs.message_bytes > 0 || program_.memory.empty();
    transfer.bytes = given     ? state_.costs.message_bytes
                     : weights ? state_.carried_bytes.at(edge.wait)
                               : shared_bytes(producer, consumer);
    program_.transfers.push_back(transfer);
  }

  /// Bytes of the values of the parts that both actions name.
  std::int64_t shared_bytes(const Action& producer, const Action& consumer) const {
    std::int64_t bytes = 0;
    program_.parts.for_each(producer, [&](std::size_t microbatch, std::size_t slice, std::size_t part) {
      if (!names(consumer, microbatch, slice)) return;
      bytes += program_.memory_of(producer.stage, part).message_bytes(is_backward(producer.op));
    });
    return bytes;
  }

  const Action& action(InstrIndex at) const { return program_.instrs[at].action; }

  /// Where the document sends the value, otherwise at once.
  InstrIndex issue(InstrIndex producer, InstrIndex consumer) const {
    const std::uint32_t given = sends_.find(action(producer), action(consumer), device(consumer));
    if (given == ProducerTable::kNone) return producer;
    return std::max(producer, state_.sends[given].before - 1);
  }

  /// Explicit sends decide the order of their channels.
  void order_by_issue() {
    std::vector<std::uint32_t> order(program_.transfers.size());
    std::vector<std::uint32_t> place(program_.transfers.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      const Transfer& transfer = program_.transfers[i];
      order[i] = i;
      place[i] = sends_.find(action(transfer.producer), action(transfer.consumer), device(transfer.consumer));
    }
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      const InstrIndex issue_a = program_.transfers[a].issue;
      const InstrIndex issue_b = program_.transfers[b].issue;
      return issue_a != issue_b ? issue_a < issue_b : place[a] + 1 < place[b] + 1;
    });
    std::vector<Transfer> transfers(order.size());
    std::vector<Edge> edges(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      transfers[i] = program_.transfers[order[i]];
      edges[i] = edges_[order[i]];
    }
    program_.transfers = std::move(transfers);
    edges_ = std::move(edges);
  }

  /// Channels in order of sender, then of first use; waits learn their transfer.
  void name_channels() {
    constexpr std::uint32_t kNone = ProducerTable::kNone;
    std::vector<std::uint32_t> channel_to(static_cast<std::size_t>(program_.num_devices), kNone);
    std::size_t first_of_sender = 0;
    for (std::uint32_t i = 0; i < program_.transfers.size(); ++i) {
      Transfer& transfer = program_.transfers[i];
      const DeviceId from = device(transfer.producer);
      const DeviceId to = device(transfer.consumer);
      if (first_of_sender < program_.channels.size() && program_.channels[first_of_sender].from != from) {
        for (; first_of_sender < program_.channels.size(); ++first_of_sender) {
          channel_to[index(program_.channels[first_of_sender].to)] = kNone;
        }
      }
      if (channel_to[index(to)] == kNone) {
        channel_to[index(to)] = static_cast<std::uint32_t>(program_.channels.size());
        program_.channels.push_back({from, to, state_.route(from, to)});
      }
      transfer.channel = channel_to[index(to)];
      program_.waits[edges_[i].wait].via = i;
    }
  }

  /// Posts in the order of their channel: a receive stands no later than those after it.
  void place_receives() {
    std::vector<InstrIndex> rounds;
    if (state_.options.receives == ReceivePlacement::kOnSend) rounds = ReceiveRounds(program_).run();
    std::vector<InstrIndex> latest(program_.channels.size(), ProducerTable::kNone);
    for (std::size_t i = program_.transfers.size(); i-- > 0;) {
      Transfer& transfer = program_.transfers[i];
      const InstrIndex taker = unit_begin(program_, transfer.consumer);
      const InstrIndex wanted = rounds.empty() ? placed(transfer, taker) : rounds[i];
      InstrIndex& bound = latest[transfer.channel];
      bound = std::min(bound, unit_begin(program_, std::min(taker, explicit_post(transfer).value_or(wanted))));
      transfer.post = bound;
    }
  }

  /// Where the document receives the value.
  std::optional<InstrIndex> explicit_post(const Transfer& transfer) const {
    const std::uint32_t given =
        receives_.find(action(transfer.consumer), action(transfer.producer), program_.channels[transfer.channel].from);
    if (given == ProducerTable::kNone) return std::nullopt;
    return state_.receives[given].before;
  }

  /// Ahead or late, of a value that `consumer`, a unit, takes.
  InstrIndex placed(const Transfer& transfer, InstrIndex consumer) const {
    if (state_.options.receives != ReceivePlacement::kAhead) return consumer;
    const InstrIndex begin = lane_begin(program_.channels[transfer.channel].to);
    InstrIndex at = consumer;
    while (at > begin) {
      at = unit_begin(program_, at - 1);
      if (is_compute(program_.instrs[at].action.op)) return at;
    }
    return consumer;
  }

  /// The sender waits for a message before it starts the action whose value would need one buffer too many.
  void place_send_waits() {
    struct InFlight {
      std::uint32_t oldest = 0;
      std::uint32_t newest = 0;
      std::int32_t count = 0;
    };
    std::vector<InFlight> channels(program_.channels.size());
    std::vector<std::uint32_t> next(program_.transfers.size(), 0);
    for (std::uint32_t i = 0; i < program_.transfers.size(); ++i) {
      Transfer& transfer = program_.transfers[i];
      InFlight& flying = channels[transfer.channel];
      transfer.sent = lane_end(program_.channels[transfer.channel].from);
      if (flying.count == 0) {
        flying.oldest = i;
      } else {
        next[flying.newest] = i;
      }
      flying.newest = i;
      if (++flying.count <= std::max(1, state_.options.send_buffers)) continue;
      Transfer& oldest = program_.transfers[flying.oldest];
      oldest.sent =
          std::min(oldest.sent, std::max(unit_begin(program_, transfer.producer), unit_end(program_, oldest.issue)));
      flying.oldest = next[flying.oldest];
      --flying.count;
    }
  }

  State& state_;
  Program& program_;
  ExplicitTable sends_;
  ExplicitTable receives_;
  std::vector<Edge> edges_;          ///< by transfer
  std::vector<DeviceId> device_of_;  ///< by holder
};

}  // namespace

void add_transfers(State& state) { TransferWriter(state).write(); }

}  // namespace plumb::lowering
