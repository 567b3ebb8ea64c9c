#include "schedules/runnability/deadlock.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <stdexcept>
#include <utility>

#include "models/ground/error.hpp"
#include "schedules/document/action_text.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/program/topological_order.hpp"
#include "schedules/program/waits.hpp"
#include "schedules/runnability/transfer_order.hpp"

namespace plumb {
namespace {

enum NodeKind : std::uint8_t { kLane, kMessage };

/// What waits: the lane of a device, or a message.
struct Node {
  NodeKind kind = kLane;
  std::uint32_t number = 0;

  friend auto operator<=>(const Node&, const Node&) = default;
};

/// What a node waits for, and the words for it.
struct Step {
  Node next;
  std::string link;
};

/// Lets all lanes go as far as they get, without times, and explains where they stand.
class DeadlockRun {
 public:
  DeadlockRun(const Program& program, TransferMode mode)
      : program_(program),
        mode_(mode),
        rules_(rules_of(mode)),
        order_(service_order(program, mode)),
        batches_(batches_of(program, mode)),
        queues_(pair_queues_of(program, mode)),
        next_(program.lane_begin.begin(), program.lane_begin.end() - 1),
        reached_(next_.size(), false),
        posted_(next_.size(), false),
        run_(next_.size()),
        ended_(program.size(), UntimedRun::kUnknown),
        offered_(program.transfers.size(), false),
        receive_posted_(program.transfers.size(), !rules_.needs_post),
        done_(program.transfers.size(), UntimedRun::kUnknown),
        batch_missing_(batches_.size),
        batch_done_(batches_.size.size(), UntimedRun::kUnknown),
        head_(program.channels.size(), 0),
        indexed_(program),
        offers_(offered(indexed_, mode)),
        posts_(indexed_.posted()),
        sends_(indexed_.sent()) {
    for (const Collective& collective : program.collectives) {
      const auto number = static_cast<std::uint32_t>(missing_.size());
      for (const InstrIndex member : collective.members) joins_.push_back({member, number});
      missing_.push_back(collective.members.size());
    }
    joined_.assign(missing_.size(), UntimedRun::kUnknown);
    std::ranges::sort(joins_, {}, &Join::member);
    for (std::uint32_t c = 0; c < program.channels.size() && rules_.pair_queues; ++c) {
      channel_between_.emplace(std::pair(program.channels[c].from, program.channels[c].to), c);
    }
  }

  void run() {
    run_.wake_all();
    run_.run([&](std::uint32_t lane) { advance(lane); });
  }

  /// One cycle of waits; nothing when every lane has ended.
  std::optional<Deadlock> deadlock() const {
    std::size_t device = 0;
    while (device < next_.size() && at_end(device)) ++device;
    if (device == next_.size()) return std::nullopt;
    std::vector<Node> cycle;
    Node node{kLane, static_cast<std::uint32_t>(device)};
    for (; std::ranges::find(cycle, node) == cycle.end(); node = step_of(node).next) cycle.push_back(node);
    cycle.erase(cycle.begin(), std::ranges::find(cycle, node));
    std::rotate(cycle.begin(), std::ranges::min_element(cycle), cycle.end());
    const DeviceId on = lane_on(cycle.front());
    const InstrIndex at = std::min(next_[index(on)], program_.lane_begin[index(on) + 1] - 1);
    const Action& action = program_.instrs[at].action;
    const auto lane = std::span(program_.instrs).subspan(program_.lane_begin[index(on)]);
    const auto before = std::ranges::count(lane.first(at - program_.lane_begin[index(on)]), action, &Instr::action);
    return Deadlock{on, action, before, text_of(cycle)};
  }

 private:
  /// A member of a collective.
  struct Join {
    InstrIndex member = 0;
    std::uint32_t collective = 0;
  };

  /// The device whose lane the node is, or the one that sends the message.
  DeviceId lane_on(const Node& node) const {
    if (node.kind == kLane) return DeviceId{static_cast<std::int32_t>(node.number)};
    return program_.channels[program_.transfers[node.number].channel].from;
  }

  /// "A on device 0 waits for B on device 1, which comes after C; C on device 1 waits for ...".
  std::string text_of(const std::vector<Node>& cycle) const {
    std::string text;
    for (std::size_t at = 0; at < cycle.size(); ++at) {
      const Node& node = cycle[at];
      if (node.kind == kLane) {
        text += at == 0 ? "" : "; ";
        text += name_of_head(node.number) + " on device " + std::to_string(node.number);
      } else if (at == 0) {
        text += name_of_message(node.number);
      }
      std::string link = step_of(node).link;
      if (at == 0 && node.kind == kMessage) link.replace(0, 1, " is");  // ", queued after ..."
      text += link;
    }
    return text;
  }

  bool at_end(std::size_t d) const { return next_[d] == program_.lane_begin[d + 1]; }
  InstrIndex unit_after(std::size_t d) const { return unit_end(program_, next_[d]); }

  /// Takes the lane as far as it gets.
  void advance(std::uint32_t d) {
    for (; !at_end(d); end_unit(d)) {
      if (!reached_[d]) {
        if (rules_.blocks_lane && waits_for(d, unreceived_before(d), batches_.of_receive)) return;
        reached_[d] = true;
        post(d, true);
      }
      if (!posted_[d]) {
        if (waits_for(d, unsent_before(d), batches_.of_send)) return;
        posted_[d] = true;
        post(d, false);
      }
      if (const Wait* wait = open_wait(d)) {
        if (is_for_transfer(*wait)) {
          waits_for(d, wait->via, batches_.of_receive);
        } else {
          run_.waits(d, is_for_collective(*wait) ? joined_[collective_of(*wait)] : ended_[wait->source]);
        }
        return;
      }
    }
  }

  /// Whether the lane must wait for the message (kNone: there is none) or, when that is done, for its batch.
  bool waits_for(std::uint32_t d, std::uint32_t t, const std::vector<std::uint32_t>& batch_of) {
    return t != kNone && run_.waits(d, has_come(done_[t]) ? batch_done_[batch_of[t]] : done_[t]);
  }

  static bool has_come(std::int32_t moment) { return UntimedRun::is_known(moment); }

  void end_unit(std::size_t d) {
    const InstrIndex first = next_[d];
    next_[d] = unit_after(d);
    reached_[d] = posted_[d] = false;
    for (InstrIndex i = first; i != next_[d]; ++i) {
      run_.set(ended_[i], kHasCome);
      for (const std::uint32_t t : offers_.of(i)) {
        offered_[t] = true;
        send(program_.transfers[t].channel);
      }
    }
    if (!joins_collective(program_.rows[program_.instrs[first].row].op)) return;
    auto join = std::ranges::lower_bound(joins_, first, {}, &Join::member);
    for (; join != joins_.end() && join->member == first; ++join) {
      if (--missing_[join->collective] == 0) run_.set(joined_[join->collective], kHasCome);
    }
  }

  void post(std::size_t d, bool batched) {
    for (InstrIndex i = next_[d]; i != unit_after(d); ++i) {
      for (const std::uint32_t t : posts_.of(i)) {
        const bool in_batch = rules_.batches && batches_.of_receive[t] != Batches::kNone;
        if (in_batch != batched) continue;
        receive_posted_[t] = true;
        send(program_.transfers[t].channel);
      }
    }
  }

  /// Sends what the channel can send.
  void send(std::uint32_t channel) {
    const auto served = order_.of(channel);
    std::uint32_t& head = head_[channel];
    const auto can = [&](std::uint32_t t) { return offered_[t] && receive_posted_[t] && in_front_of(t) == kNone; };
    const std::uint32_t before = head;
    for (; head < served.size() && can(served[head]); ++head) {
      const std::uint32_t t = served[head];
      run_.set(done_[t], kHasCome);
      if (!rules_.batches) continue;
      complete_in(batches_.of_send[t]);
      complete_in(batches_.of_receive[t]);
    }
    if (head != before && rules_.pair_queues) send_back(channel);
  }

  void complete_in(std::uint32_t batch) {
    if (batch != Batches::kNone && --batch_missing_[batch] == 0) run_.set(batch_done_[batch], kHasCome);
  }

  /// Sends what the other direction of the pair can send now.
  void send_back(std::uint32_t channel) {
    const auto other = channel_between_.find({program_.channels[channel].to, program_.channels[channel].from});
    if (other != channel_between_.end()) send(other->second);
  }

  /// Pair-fifo mode: a message in front of `t` at one of its ends that is not done.
  std::uint32_t in_front_of(std::uint32_t t) const {
    if (!rules_.pair_queues || program_.is_move(t)) return kNone;
    for (const std::uint32_t other : {queues_.before_send[t], queues_.before_receive[t]}) {
      if (other != kNone && !has_come(done_[other])) return other;
    }
    return kNone;
  }

  bool is_over(std::uint32_t t, const std::vector<std::uint32_t>& batch_of) const {
    return has_come(done_[t]) &&
           (!rules_.batches || batch_of[t] == Batches::kNone || has_come(batch_done_[batch_of[t]]));
  }

  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;

  /// A message issued at the unit before that has not arrived.
  std::uint32_t unreceived_before(std::size_t d) const {
    if (next_[d] == program_.lane_begin[d]) return kNone;
    const InstrIndex first = unit_before(program_, next_[d]);
    for (InstrIndex i = next_[d]; i != first;) {
      for (const std::uint32_t t : offers_.of(--i)) {
        if (!is_over(t, batches_.of_receive)) return t;
      }
    }
    return kNone;
  }

  std::uint32_t unsent_before(std::size_t d) const {
    for (InstrIndex i = next_[d]; i != unit_after(d); ++i) {
      for (const std::uint32_t t : sends_.of(i)) {
        if (!is_over(t, batches_.of_send)) return t;
      }
    }
    return kNone;
  }

  const Wait* open_wait(std::size_t d) const {
    for (const Wait& wait : waits_of(program_, next_[d], unit_after(d))) {
      const bool over = is_for_transfer(wait)     ? is_over(wait.via, batches_.of_receive)
                        : is_for_collective(wait) ? has_come(joined_[collective_of(wait)])
                                                  : has_come(ended_[wait.source]);
      if (!over) return &wait;
    }
    return nullptr;
  }

  /// What the lane waits for.
  Step step_of_lane(std::size_t d) const {
    if (!reached_[d]) return to_message(unreceived_before(d), batches_.of_receive);
    if (!posted_[d]) return to_message(unsent_before(d), batches_.of_send);
    const Wait& wait = *open_wait(d);
    if (is_for_transfer(wait)) return to_message(wait.via, batches_.of_receive);
    if (!is_for_collective(wait)) return to_lane(" waits for ", wait.source);
    const auto& members = program_.collectives[collective_of(wait)].members;
    return to_lane(" waits for ",
                   *std::ranges::find_if(members, [&](InstrIndex member) { return !has_come(ended_[member]); }));
  }

  /// The message that a lane waits for; when it is done, one of its batch that is not.
  Step to_message(std::uint32_t t, const std::vector<std::uint32_t>& batch_of) const {
    if (!has_come(done_[t])) return {{kMessage, t}, " waits for " + name_of_message(t)};
    std::uint32_t u = 0;
    while (has_come(done_[u]) || (batches_.of_send[u] != batch_of[t] && batches_.of_receive[u] != batch_of[t])) ++u;
    return {{kMessage, u}, " waits for " + name_of_message(t) + ", batched with " + name_of_message(u)};
  }

  Step to_lane(std::string link, InstrIndex by) const {
    const std::size_t device = device_of(by);
    link += name(by) + " on device " + std::to_string(device);
    if (by < next_[device] || by >= unit_after(device)) link += ", which comes after " + name_of_head(device);
    return {{kLane, static_cast<std::uint32_t>(device)}, std::move(link)};
  }

  /// What a message that is not done waits for.
  Step step_of_message(std::uint32_t t) const {
    const Transfer& transfer = program_.transfers[t];
    const auto behind = [&](std::uint32_t other) {
      return Step{{kMessage, other}, ", queued after " + name_of_message(other)};
    };
    const std::uint32_t head = order_.of(transfer.channel)[head_[transfer.channel]];
    if (head != t) return behind(head);
    if (!offered_[t]) return to_lane(", not issued before the end of ", offered_by(transfer, mode_));
    if (!receive_posted_[t]) return to_lane(", whose receive is not posted before ", transfer.post);
    return behind(in_front_of(t));
  }

  Step step_of(const Node& node) const {
    return node.kind == kLane ? step_of_lane(node.number) : step_of_message(node.number);
  }

  /// What the lane stands before: an action or a pair.
  std::string name_of_head(std::size_t d) const {
    std::string text;
    append_item(text, unit(d), 0);
    return text;
  }

  std::span<const Action> unit(std::size_t d) const {
    unit_.clear();
    for (InstrIndex i = next_[d]; i != unit_after(d); ++i) unit_.push_back(program_.instrs[i].action);
    return unit_;
  }

  std::string name(InstrIndex i) const { return to_string(program_.instrs[i].action); }

  std::string name_of_message(std::uint32_t t) const {
    const Transfer& transfer = program_.transfers[t];
    const Channel& channel = program_.channels[transfer.channel];
    return "the message of " + name(transfer.producer) + " from device " + std::to_string(index(channel.from)) +
           " to device " + std::to_string(index(channel.to));
  }

  std::size_t device_of(InstrIndex i) const {
    const auto lane = std::ranges::upper_bound(program_.lane_begin, i);
    return static_cast<std::size_t>(lane - program_.lane_begin.begin()) - 1;
  }

  const Program& program_;
  TransferMode mode_;
  TransferRules rules_;
  IndexLists order_;
  Batches batches_;
  PairQueues queues_;
  std::vector<InstrIndex> next_;  ///< by device: the unit that its lane stands before
  std::vector<bool> reached_;     ///< by device: own messages of blocking mode are over
  std::vector<bool> posted_;      ///< by device: waits of sends are over, receives posted
  UntimedRun run_;
  std::vector<std::int32_t> ended_;  ///< by instr
  std::vector<bool> offered_;        ///< by transfer
  std::vector<bool> receive_posted_;
  std::vector<std::int32_t> done_;
  std::vector<std::uint32_t> batch_missing_;
  std::vector<std::int32_t> batch_done_;
  std::vector<std::uint32_t> head_;   ///< by channel: the first message of the service order that is not done
  std::vector<std::size_t> missing_;  ///< by collective: members that have not joined
  std::vector<std::int32_t> joined_;  ///< by collective
  std::vector<Join> joins_;           ///< by member
  std::map<std::pair<DeviceId, DeviceId>, std::uint32_t> channel_between_;  ///< pair-fifo mode: by both ends
  mutable std::vector<Action> unit_;                                        ///< room for `unit`
  ProgramIndex indexed_;
  const IndexLists& offers_;
  const IndexLists& posts_;
  const IndexLists& sends_;
};

}  // namespace

std::optional<Deadlock> find_deadlock(const Program& program, TransferMode mode) {
  DeadlockRun lanes(program, mode);
  lanes.run();
  return lanes.deadlock();
}

namespace {

std::string sentence(const Program& program, TransferMode mode, const Deadlock& deadlock) {
  const bool has_messages = program.transfers.size() > program.moves.size();
  const std::string travel(kTransferModeNames[static_cast<std::size_t>(mode)]);
  return (has_messages ? "transfers " + travel + ": " : "") + "deadlock: " + deadlock.cycle;
}

}  // namespace

std::string describe_deadlock(const Program& program, TransferMode mode) {
  const auto found = find_deadlock(program, mode);
  return found ? sentence(program, mode, *found) : std::string();
}

void throw_deadlock(const Program& program, TransferMode mode) {
  const auto found = find_deadlock(program, mode);
  if (!found) throw std::logic_error("a program that runs was taken for one that does not");
  throw DeadlockError(sentence(program, mode, *found), *found);
}

std::vector<InstrIndex> run_order(const Program& program) {
  std::vector<InstrIndex> order = topological_order(program);
  if (order.size() == program.size()) return order;
  throw_deadlock(program, TransferMode::kFifo);
}

}  // namespace plumb
