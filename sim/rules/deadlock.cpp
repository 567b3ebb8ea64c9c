#include "sim/rules/deadlock.hpp"

#include <algorithm>
#include <vector>

#include "schedules/document/schedule_io.hpp"
#include "schedules/program/waits.hpp"
#include "sim/rules/transfer_semantics.hpp"

namespace plumb {
namespace {

/// One link of a chain of waits: who waits for what, and whose device must go on for it.
struct Hop {
  std::string text;
  std::size_t device = 0;
};

/// Lets all lanes go as far as they get, without times, and explains where they stand.
class Standstill {
 public:
  Standstill(const Program& program, TransferMode mode)
      : program_(program),
        mode_(mode),
        rules_(rules_of(mode)),
        order_(service_order(program, mode)),
        batches_(batches_of(program, mode)),
        queues_(pair_queues_of(program, mode)),
        next_(program.lane_begin.begin(), program.lane_begin.end() - 1),
        reached_(next_.size(), false),
        posted_(next_.size(), false),
        ended_(program.size(), false),
        offered_(program.transfers.size(), false),
        receive_posted_(program.transfers.size(), !rules_.needs_post),
        done_(program.transfers.size(), false),
        batch_missing_(batches_.size),
        head_(program.channels.size(), 0),
        indexed_(program),
        offers_(offered(indexed_, mode)),
        posts_(indexed_.posted()),
        sends_(indexed_.sent()) {
    for (const Collective& collective : program.collectives) missing_.push_back(collective.members.size());
  }

  void run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t d = 0; d < next_.size(); ++d) {
        while (advance(d)) moved = true;
      }
    }
  }

  /// The cycle, beginning anywhere on it; empty when every lane has ended.
  std::string cycle() const {
    std::size_t device = 0;
    while (device < next_.size() && at_end(device)) ++device;
    if (device == next_.size()) return {};
    std::vector<std::size_t> seen;
    while (std::ranges::find(seen, device) == seen.end()) {
      seen.push_back(device);
      device = blocker(device).device;
    }
    std::string text;
    const auto first = std::ranges::find(seen, device);
    for (auto at = first; at != seen.end(); ++at) text += (at == first ? "" : "; ") + blocker(*at).text;
    return text;
  }

 private:
  bool at_end(std::size_t d) const { return next_[d] == program_.lane_begin[d + 1]; }
  InstrIndex behind(std::size_t d) const { return unit_end(program_, next_[d]); }

  /// One step of the lane; false when it cannot move.
  bool advance(std::size_t d) {
    if (at_end(d)) return false;
    if (!reached_[d]) {
      if (rules_.blocks_lane && unreceived_before(d) != kNone) return false;
      reached_[d] = true;
      post(d, true);
      return true;
    }
    if (!posted_[d]) {
      if (unsent_before(d) != kNone) return false;
      posted_[d] = true;
      post(d, false);
      return true;
    }
    if (open_wait(d) != nullptr) return false;
    end_unit(d);
    return true;
  }

  void end_unit(std::size_t d) {
    const InstrIndex first = next_[d];
    next_[d] = behind(d);
    reached_[d] = posted_[d] = false;
    for (InstrIndex i = first; i != next_[d]; ++i) {
      ended_[i] = true;
      for (const std::uint32_t t : offers_.of(i)) {
        offered_[t] = true;
        send(program_.transfers[t].channel);
      }
    }
    if (!joins_collective(program_.rows[program_.instrs[first].row].op)) return;
    for (std::size_t c = 0; c < program_.collectives.size(); ++c) {
      missing_[c] -= static_cast<std::size_t>(std::ranges::count_if(
          program_.collectives[c].members, [&](InstrIndex member) { return member >= first && member < next_[d]; }));
    }
  }

  void post(std::size_t d, bool batched) {
    for (InstrIndex i = next_[d]; i != behind(d); ++i) {
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
      done_[t] = true;
      if (!rules_.batches) continue;
      if (batches_.of_send[t] != Batches::kNone) --batch_missing_[batches_.of_send[t]];
      if (batches_.of_receive[t] != Batches::kNone) --batch_missing_[batches_.of_receive[t]];
    }
    if (head != before && rules_.pair_queues) send_back(channel);
  }

  /// Sends what the other direction of the pair can send now.
  void send_back(std::uint32_t channel) {
    const Channel& way = program_.channels[channel];
    for (std::uint32_t other = 0; other < program_.channels.size(); ++other) {
      const bool opposite = way.from == program_.channels[other].to && way.to == program_.channels[other].from;
      if (opposite && other != channel) send(other);
    }
  }

  /// Pair-fifo mode: a message in front of `t` at one of its ends that is not done.
  std::uint32_t in_front_of(std::uint32_t t) const {
    if (!rules_.pair_queues || program_.is_move(t)) return kNone;
    for (const std::uint32_t other : {queues_.before_send[t], queues_.before_receive[t]}) {
      if (other != kNone && !done_[other]) return other;
    }
    return kNone;
  }

  bool is_over(std::uint32_t t, const std::vector<std::uint32_t>& batch_of) const {
    return done_[t] && (!rules_.batches || batch_of[t] == Batches::kNone || batch_missing_[batch_of[t]] == 0);
  }

  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;

  /// A message issued at the unit before that has not arrived.
  std::uint32_t unreceived_before(std::size_t d) const {
    InstrIndex i = next_[d];
    while (i > program_.lane_begin[d]) {
      for (const std::uint32_t t : offers_.of(--i)) {
        if (!is_over(t, batches_.of_receive)) return t;
      }
      const bool pair = i > program_.lane_begin[d] && unit_end(program_, i - 1) == next_[d];
      if (!pair) break;
    }
    return kNone;
  }

  std::uint32_t unsent_before(std::size_t d) const {
    for (InstrIndex i = next_[d]; i != behind(d); ++i) {
      for (const std::uint32_t t : sends_.of(i)) {
        if (!is_over(t, batches_.of_send)) return t;
      }
    }
    return kNone;
  }

  const Wait* open_wait(std::size_t d) const {
    for (std::uint32_t w = program_.instrs[next_[d]].first_wait; w != program_.instrs[behind(d)].first_wait; ++w) {
      const Wait& wait = program_.waits[w];
      const bool over = is_for_transfer(wait)     ? is_over(wait.via, batches_.of_receive)
                        : is_for_collective(wait) ? missing_[collective_of(wait)] == 0
                                                  : ended_[wait.source];
      if (!over) return &wait;
    }
    return nullptr;
  }

  Hop blocker(std::size_t d) const {
    const std::string where = name(next_[d]) + " on device " + std::to_string(d) + " waits for ";
    if (!reached_[d]) return message_hop(where, unreceived_before(d), batches_.of_receive);
    if (!posted_[d]) return message_hop(where, unsent_before(d), batches_.of_send);
    const Wait& wait = *open_wait(d);
    if (is_for_transfer(wait)) return message_hop(where, wait.via, batches_.of_receive);
    InstrIndex source = wait.source;
    if (is_for_collective(wait)) {
      const auto& members = program_.collectives[collective_of(wait)].members;
      source = *std::ranges::find_if(members, [&](InstrIndex member) { return !ended_[member]; });
    }
    return {where + name(source) + " on device " + std::to_string(device_of(source)), device_of(source)};
  }

  /// Why message `t` is not over, and whose device must go on for it.
  Hop message_hop(const std::string& where, std::uint32_t t, const std::vector<std::uint32_t>& batch_of) const {
    if (done_[t]) {  // its batch is not over
      const std::uint32_t batch = batch_of[t];
      for (std::uint32_t u = 0; u < done_.size(); ++u) {
        const bool member = batches_.of_send[u] == batch || batches_.of_receive[u] == batch;
        if (member && !done_[u]) return message_hop(where + name_of_message(t) + ", batched with ", u, batch_of);
      }
    }
    const auto served = order_.of(program_.transfers[t].channel);
    const std::uint32_t head = served[head_[program_.transfers[t].channel]];
    std::string text = where + name_of_message(t);
    if (head != t) text += ", queued after " + name_of_message(head);
    if (const std::uint32_t front = in_front_of(head); front != kNone && offered_[head] && receive_posted_[head]) {
      return queue_hop(text + ", queued after ", front);
    }
    return unready_hop(text, head);
  }

  /// A message that is not issued or whose receive is not posted.
  Hop unready_hop(const std::string& text, std::uint32_t t) const {
    const Transfer& transfer = program_.transfers[t];
    if (!offered_[t]) {
      const InstrIndex by = offered_by(transfer, mode_);
      return {text + ", not issued before the end of " + name(by), device_of(by)};
    }
    return {text + ", whose receive is not posted before " + name(transfer.post), device_of(transfer.post)};
  }

  /// Why the first of the messages in front of another one in the queues of its ends is not done.
  Hop queue_hop(const std::string& where, std::uint32_t front) const {
    std::vector<std::uint32_t> seen;
    while (std::ranges::find(seen, front) == seen.end()) {
      if (!offered_[front] || !receive_posted_[front]) return unready_hop(where + name_of_message(front), front);
      seen.push_back(front);
      front = in_front_of(front);
    }
    const DeviceId stuck = program_.channels[program_.transfers[front].channel].from;
    return {where + name_of_message(front) + ", which waits for itself: its ends send and receive in different orders",
            index(stuck)};
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
  std::vector<bool> ended_;       ///< by instr
  std::vector<bool> offered_;     ///< by transfer
  std::vector<bool> receive_posted_;
  std::vector<bool> done_;
  std::vector<std::uint32_t> batch_missing_;
  std::vector<std::uint32_t> head_;   ///< by channel: the first message of the service order that is not done
  std::vector<std::size_t> missing_;  ///< by collective: members that have not joined
  ProgramIndex indexed_;
  const IndexLists& offers_;
  const IndexLists& posts_;
  const IndexLists& sends_;
};

}  // namespace

std::string describe_deadlock(const Program& program, TransferMode mode) {
  Standstill lanes(program, mode);
  lanes.run();
  const std::string cycle = lanes.cycle();
  if (cycle.empty()) return {};
  return "transfers " + std::string(kTransferModeNames[static_cast<std::size_t>(mode)]) + ": deadlock: " + cycle;
}

}  // namespace plumb
