#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "schedules/checks/list_contents.hpp"
#include "schedules/checks/transfer_ends.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/document/walk.hpp"
#include "schedules/rules/dependency_rules.hpp"

namespace plumb {
namespace {

/// One end of a message.
struct End {
  Message message;
  std::int64_t position = 0;
  Action action;
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
  void note(std::size_t device, std::int64_t position, const Action& action) {
    const auto here = static_cast<std::int32_t>(device);
    const std::vector<Message> messages = messages_of(schedule_, rules_, here, action);
    if (messages.empty()) findings_.add(device, position, to_string(action), "the stage has no neighbour on that side");
    for (const Message& message : messages) {
      const std::int32_t peer = is_send(action.op) ? message.to : message.from;
      if (peer == here || peer < 0 || peer >= schedule_.num_devices) {
        findings_.add(device, position, to_string(action),
                      peer == here ? "both stages are on this device; expected no transfer" : "device out of range");
        continue;
      }
      Traffic& traffic = traffic_[{static_cast<std::size_t>(message.from), static_cast<std::size_t>(message.to)}];
      (is_send(action.op) ? traffic.sent : traffic.received).push_back({message, position, action});
    }
  }

  void check(std::size_t from, std::size_t to, const Traffic& traffic) {
    auto sent = traffic.sent;
    auto received = traffic.received;
    const auto by_value = [](const End& a, const End& b) { return a.message < b.message; };
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
    const auto same = [](const End& a, const End& b) { return a.message == b.message; };
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
