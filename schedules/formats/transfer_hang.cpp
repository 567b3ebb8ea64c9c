#include "schedules/formats/transfer_hang.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "schedules/checks/transfer_ends.hpp"
#include "schedules/checks/validation_size.hpp"
#include "schedules/document/schedule.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/formats/torch_lowering.hpp"
#include "schedules/program/lane_run.hpp"
#include "schedules/rules/dependency_rules.hpp"

namespace plumb {
namespace {

constexpr std::size_t kNoHalf = static_cast<std::size_t>(-1);

/// A send or a receive of one message.
struct Half {
  Message message;
  std::size_t device = 0;
  std::size_t position = 0;
  std::size_t partner = kNoHalf;
  std::size_t before = kNoHalf;  ///< the one that its device issues before it to or from the same device
  std::size_t after = kNoHalf;   ///< the other way round
  bool issued = false;
  bool done = false;
};

/// The lists with what every action issues and waits for.
struct HalvesPlan {
  std::vector<std::vector<Action>> lists;
  std::vector<Half> halves;
  std::vector<std::vector<std::vector<std::size_t>>> issues;  ///< by device, position: halves
  std::vector<std::vector<std::vector<std::size_t>>> needs;   ///< by device, position: receives
};

class Planner {
 public:
  explicit Planner(const Schedule& schedule) : schedule_(schedule), rules_(schedule) {}

  HalvesPlan plan() {
    for (const DeviceList& list : schedule_.devices) {
      plan_.lists.push_back(expand(list));
      plan_.issues.emplace_back(plan_.lists.back().size());
      plan_.needs.emplace_back(plan_.lists.back().size());
    }
    for (std::size_t device = 0; device < plan_.lists.size(); ++device) add_halves(device);
    for (std::size_t device = 0; device < plan_.lists.size(); ++device) add_needs(device);
    return std::move(plan_);
  }

 private:
  void add_halves(std::size_t device) {
    std::map<std::size_t, std::size_t> last;  // half by peer
    for (std::size_t position = 0; position < plan_.lists[device].size(); ++position) {
      const Action& action = plan_.lists[device][position];
      const bool sends = action.op == Op::kSendF || action.op == Op::kSendB;
      if (!sends && action.op != Op::kRecvF && action.op != Op::kRecvB) continue;
      for (const Message& message : messages_of(schedule_, rules_, static_cast<std::int32_t>(device), action)) {
        const auto peer = static_cast<std::size_t>(sends ? message.to : message.from);
        const std::size_t number = plan_.halves.size();
        Half half{.message = message, .device = device, .position = position};
        if (const auto found = last.find(peer); found != last.end()) {
          half.before = found->second;
          plan_.halves[half.before].after = number;
        }
        last[peer] = number;
        const auto [other, first] = by_message_.emplace(message, number);
        if (!first) {
          half.partner = other->second;
          plan_.halves[other->second].partner = number;
        }
        plan_.halves.push_back(half);
        plan_.issues[device][position].push_back(number);
      }
    }
  }

  /// The receives of what compute takes from other devices.
  void add_needs(std::size_t device) {
    for (std::size_t position = 0; position < plan_.lists[device].size(); ++position) {
      rules_.for_each(plan_.lists[device][position], [&](const Action& needed, DependencyKind kind) {
        if (kind != DependencyKind::kActivation && kind != DependencyKind::kGradient) return;
        const auto number = static_cast<std::int64_t>(index(needed.microbatch));
        const auto maker = static_cast<std::int32_t>(device_of(schedule_, needed.replica, needed.stage, number));
        if (maker == static_cast<std::int32_t>(device)) return;
        const Message message{needed.replica,
                              needed.stage,
                              needed.op == Op::kF,
                              number,
                              needed.slice,
                              maker,
                              static_cast<std::int32_t>(device)};
        const auto found = by_message_.find(message);
        if (found == by_message_.end()) return;
        const Half& half = plan_.halves[found->second];
        plan_.needs[device][position].push_back(half.device == device ? found->second : half.partner);
      });
    }
  }

  const Schedule& schedule_;
  DependencyRules rules_;
  HalvesPlan plan_;
  std::map<Message, std::size_t> by_message_;
};

/// Lets every device go as far as it gets, and explains where they stand.
class Standstill {
 public:
  Standstill(HalvesPlan plan, TransferModel model)
      : plan_(std::move(plan)), model_(model), next_(plan_.lists.size(), 0) {}

  void run() {
    run_in_turns(next_.size(), [&](std::size_t device) { return step(device); });
  }

  std::optional<Violation> hang() const {
    for (std::size_t device = 0; device < next_.size(); ++device) {
      if (!at_end(device)) return explain({device, kNoHalf});
    }
    for (std::size_t half = 0; half < plan_.halves.size(); ++half) {
      if (!plan_.halves[half].done) return explain({kNoHalf, half});
    }
    return std::nullopt;
  }

 private:
  /// What waits: a device that stands still, or a transfer that is issued.
  struct Waiter {
    std::size_t device = kNoHalf;
    std::size_t half = kNoHalf;

    friend bool operator==(const Waiter&, const Waiter&) = default;
  };

  bool at_end(std::size_t device) const { return next_[device] == plan_.lists[device].size(); }
  const Half& partner(std::size_t half) const { return plan_.halves[plan_.halves[half].partner]; }

  /// Issues what stands here, then goes on when nothing holds the device.
  bool step(std::size_t device) {
    if (at_end(device)) return false;
    const std::size_t at = next_[device];
    for (const std::size_t half : plan_.issues[device][at]) {
      if (plan_.halves[half].issued) continue;
      plan_.halves[half].issued = true;
      settle(half);
    }
    if (holder(device) != kNoHalf) return false;
    ++next_[device];
    return true;
  }

  /// The transfer that the device waits for.
  std::size_t holder(std::size_t device) const {
    const std::size_t at = next_[device];
    for (const std::size_t half : plan_.needs[device][at]) {
      if (!plan_.halves[half].done) return half;
    }
    const bool holds = model_ == TransferModel::kRendezvous && is_send(plan_.lists[device][at].op);
    for (const std::size_t half : plan_.issues[device][at]) {
      if (holds && !plan_.halves[half].done) return half;
    }
    return kNoHalf;
  }

  bool is_first(std::size_t half) const {
    const std::size_t before = plan_.halves[half].before;
    return model_ != TransferModel::kPairFifo || before == kNoHalf || plan_.halves[before].done;
  }

  /// Carries out the message of `half` if it can be, and those that were queued behind it.
  void settle(std::size_t half) {
    std::vector<std::size_t> candidates{half};
    while (!candidates.empty()) {
      Half& one = plan_.halves[candidates.back()];
      Half& other = plan_.halves[one.partner];
      const bool can = !one.done && one.issued && other.issued && is_first(candidates.back()) && is_first(one.partner);
      candidates.pop_back();
      if (!can) continue;
      one.done = other.done = true;
      if (one.after != kNoHalf) candidates.push_back(one.after);
      if (other.after != kNoHalf) candidates.push_back(other.after);
    }
  }

  Violation explain(Waiter from) const {
    std::vector<Waiter> seen;
    while (std::ranges::find(seen, from) == seen.end()) {
      seen.push_back(from);
      from = cause(from).first;
    }
    std::string text = "hang (" + std::string(kTransferModelNames[static_cast<std::size_t>(model_)]) + "): ";
    const auto first = std::ranges::find(seen, from);
    for (auto at = first; at != seen.end(); ++at) text += (at == first ? "" : "; ") + cause(*at).second;
    const std::size_t device = first->device != kNoHalf ? first->device : plan_.halves[first->half].device;
    const std::size_t position = first->device != kNoHalf ? next_[device] : plan_.halves[first->half].position;
    return {DeviceId{static_cast<std::int32_t>(device)}, position, to_string(plan_.lists[device][position]), text};
  }

  /// What the waiter waits for, and the sentence about it.
  std::pair<Waiter, std::string> cause(const Waiter& waiter) const {
    if (waiter.half != kNoHalf) return cause_of_half(waiter.half);
    const std::size_t half = holder(waiter.device);
    const bool own_send = plan_.halves[half].position == next_[waiter.device];
    if (own_send) return cause_of_half(half);
    const std::string here = head(waiter.device) + " on device " + std::to_string(waiter.device);
    if (!plan_.halves[half].issued) {
      return {waiter, here + " waits for " + name(half) + ", which comes after it"};
    }
    return {{kNoHalf, half}, here + " waits for " + name(half)};
  }

  std::pair<Waiter, std::string> cause_of_half(std::size_t half) const {
    const Half& one = plan_.halves[half];
    const std::string here = name(half) + " of device " + std::to_string(one.device);
    if (!is_first(half)) {
      std::size_t front = one.before;
      while (!is_first(front)) front = plan_.halves[front].before;
      return {{kNoHalf, front}, here + " is queued behind " + name(front)};
    }
    const std::size_t peer = partner(half).device;
    const std::string there = " waits for " + action_text(one.partner) + " of device " + std::to_string(peer);
    if (!partner(half).issued) {
      return {{peer, kNoHalf}, here + there + ", which is at " + head(peer)};
    }
    std::size_t front = partner(half).before;
    while (!is_first(front)) front = plan_.halves[front].before;
    return {{kNoHalf, front}, here + there + ", which is queued behind " + name(front)};
  }

  std::string head(std::size_t device) const { return to_string(plan_.lists[device][next_[device]]); }

  std::string action_text(std::size_t half) const {
    const Half& one = plan_.halves[half];
    return to_string(plan_.lists[one.device][one.position]);
  }

  /// "0SEND_F1 [F0.1]".
  std::string name(std::size_t half) const {
    const Message& message = plan_.halves[half].message;
    return action_text(half) + " [" + (message.forward ? "F" : "B") + std::to_string(index(message.stage)) + "." +
           std::to_string(message.microbatch) + "]";
  }

  HalvesPlan plan_;
  TransferModel model_;
  std::vector<std::size_t> next_;  ///< by device: position that it stands at
};

}  // namespace

std::optional<Violation> find_hang(const Schedule& schedule, TransferModel model) {
  const Schedule lowered = torch_lowered(schedule, {.collectives = false});
  Standstill lists(Planner(lowered).plan(), model);
  lists.run();
  std::optional<Violation> hang = lists.hang();
  if (hang && lowered != schedule) hang->position = 0, hang->action.clear();  // stands in no list of the document
  return hang;
}

WorkSize hang_check_size(const Schedule& schedule) {
  // Measured with 1f1b and zbv on 256 and 512 devices: 435 to 640 bytes and 1.2 to 1.8 us for each action of a schedule
  // that has no transfers yet, and 200 bytes and 0.4 us for each where they are listed.
  const auto actions = static_cast<double>(action_count(schedule));
  return is_torch_lowered(schedule) ? work_size(actions, 190, 0.4e-6) : work_size(actions, 420, 1.5e-6);
}

}  // namespace plumb
