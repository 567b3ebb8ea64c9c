#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "schedules/dependency_rules.hpp"
#include "schedules/list_contents.hpp"
#include "schedules/schedule_io.hpp"
#include "schedules/walk.hpp"

namespace plumb {
namespace {

/// One end of a message: the value (as the F or B that makes it) and the action that sends or receives it.
struct End {
  StageId stage{};  ///< that makes the value
  Op op{};          ///< kF or kB
  std::int64_t microbatch = 0;
  std::int16_t slice = Action::kAllSlices;
  std::int64_t position = 0;
  Action action;

  auto value() const { return std::tuple(stage, op, microbatch, slice); }
};

/// What one device sends to another, in both views.
struct Traffic {
  std::vector<End> sent;
  std::vector<End> received;
};

class TransferChecker {
 public:
  TransferChecker(const Schedule& schedule, Findings& findings)
      : schedule_(schedule), findings_(findings), rules_(schedule) {}

  void check() {
    for (std::size_t device = 0; device < schedule_.devices.size(); ++device) {
      std::int64_t position = 0;
      walk(schedule_.devices[device], [&](const Action& action) {
        const bool counted = is_send(action.op) || is_recv(action.op);
        if (counted && action.op != Op::kSendR && action.op != Op::kRecvR) note(device, position, action);
        ++position;
      });
    }
    for (auto& [devices, traffic] : traffic_) check(devices.first, devices.second, traffic);
  }

 private:
  static bool carries_forward(Op op) { return op == Op::kSendF || op == Op::kRecvF; }

  /// Stages at the other end: the next ones of an activation sent or a gradient received, otherwise those before.
  std::vector<StageId> neighbours(const Action& action) const {
    const bool next = action.op == Op::kSendF || action.op == Op::kRecvB;
    Action asking;
    asking.stage = action.stage;
    asking.op = next ? Op::kB : Op::kF;
    std::vector<StageId> stages;
    rules_.for_each(asking, [&](const Action& needed, DependencyKind kind) {
      if (kind == DependencyKind::kActivation || kind == DependencyKind::kGradient) stages.push_back(needed.stage);
    });
    return stages;
  }

  void note(std::size_t device, std::int64_t position, const Action& action) {
    const std::vector<StageId> stages = neighbours(action);
    if (stages.empty()) {
      findings_.add(device, position, to_string(action), "the stage has no neighbour on that side");
      return;
    }
    for (std::int64_t i = 0; i <= action.merged; ++i) {
      const std::int64_t microbatch = static_cast<std::int32_t>(action.microbatch) + i;
      const Op value = carries_forward(action.op) ? Op::kF : Op::kB;
      const End end{action.stage, value, microbatch, action.slice, position, action};
      if (action.where != Action::kNowhere) {
        note(end, at(stages, action, microbatch), device, static_cast<std::size_t>(action.where));
        continue;
      }
      for (const StageId stage : stages) {
        const std::size_t peer = index(device_of(schedule_, action.replica, stage, microbatch));
        note(end, stage, device, peer);
      }
    }
  }

  /// The neighbour that the named peer holds, or the first.
  StageId at(const std::vector<StageId>& stages, const Action& action, std::int64_t microbatch) const {
    for (const StageId stage : stages) {
      if (static_cast<std::int32_t>(device_of(schedule_, action.replica, stage, microbatch)) == action.where)
        return stage;
    }
    return stages.front();
  }

  /// `end` is at `device`; the stage at the other end is `other`, held by `peer`.
  void note(End end, StageId other, std::size_t device, std::size_t peer) {
    if (peer == device || peer >= schedule_.devices.size()) {
      findings_.add(device, end.position, to_string(end.action),
                    peer == device ? "both stages are on this device; expected no transfer" : "device out of range");
    } else if (is_send(end.action.op)) {
      traffic_[{device, peer}].sent.push_back(end);
    } else {
      end.stage = other;
      traffic_[{peer, device}].received.push_back(end);
    }
  }

  void check(std::size_t from, std::size_t to, const Traffic& traffic) {
    auto sent = traffic.sent;
    auto received = traffic.received;
    const auto by_value = [](const End& a, const End& b) { return a.value() < b.value(); };
    std::sort(sent.begin(), sent.end(), by_value);
    std::sort(received.begin(), received.end(), by_value);
    std::vector<End> alone;
    std::set_difference(sent.begin(), sent.end(), received.begin(), received.end(), std::back_inserter(alone),
                        by_value);
    for (const End& end : alone) {
      findings_.add(from, end.position, to_string(end.action), "device " + std::to_string(to) + " never receives it");
    }
    const bool all_received = alone.empty();
    alone.clear();
    std::set_difference(received.begin(), received.end(), sent.begin(), sent.end(), std::back_inserter(alone),
                        by_value);
    for (const End& end : alone) {
      findings_.add(to, end.position, to_string(end.action), "device " + std::to_string(from) + " never sends it");
    }
    if (all_received && alone.empty()) check_order(from, to, traffic);
  }

  void check_order(std::size_t from, std::size_t to, const Traffic& traffic) {
    const auto same = [](const End& a, const End& b) { return a.value() == b.value(); };
    const auto [sent, received] =
        std::mismatch(traffic.sent.begin(), traffic.sent.end(), traffic.received.begin(), traffic.received.end(), same);
    if (sent == traffic.sent.end() || received == traffic.received.end()) return;
    findings_.add(to, received->position, to_string(received->action),
                  "is number " + std::to_string(received - traffic.received.begin()) + " received from device " +
                      std::to_string(from) + ", whose number " + std::to_string(sent - traffic.sent.begin()) +
                      " sent is " + to_string(sent->action) + "; expected the same order");
  }

  const Schedule& schedule_;
  Findings& findings_;
  DependencyRules rules_;
  std::map<std::pair<std::size_t, std::size_t>, Traffic> traffic_;
};

}  // namespace

void check_transfers(const Schedule& schedule, Findings& findings) {
  const auto has_transfers = [](const DeviceList& list) {
    const auto is_transfer = [](const Action& action) { return is_send(action.op) || is_recv(action.op); };
    return std::any_of(list.actions.begin(), list.actions.end(), is_transfer);
  };
  if (std::none_of(schedule.devices.begin(), schedule.devices.end(), has_transfers)) return;
  TransferChecker(schedule, findings).check();
}

}  // namespace plumb
