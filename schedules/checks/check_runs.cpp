#include "schedules/checks/check_runs.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "models/ground/error.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/document/walk.hpp"
#include "schedules/lowering/lower.hpp"
#include "schedules/runnability/deadlock.hpp"

namespace plumb {
namespace {

/// Position in the device's list of the action that its lane cannot take; nothing for one that lowering has added.
std::optional<std::size_t> position_of(const DeviceList& list, const Deadlock& deadlock) {
  std::size_t position = 0;
  std::optional<std::size_t> found;
  std::int64_t before = deadlock.before;
  walk(list, [&](Action action) {
    action.overlaps_next = deadlock.action.overlaps_next;
    if (action == deadlock.action && before-- == 0) found = position;
    ++position;
  });
  return found;
}

Violation violation_of(const Schedule& schedule, const Deadlock& deadlock, const std::string& where) {
  const DeviceList& list = schedule.devices[index(deadlock.device)];
  const std::optional<std::size_t> position = position_of(list, deadlock);
  const std::string name = to_string(deadlock.action) + (position ? "" : " (added, since the list has none)");
  return {deadlock.device, position.value_or(static_cast<std::size_t>(expanded_size(list))), name,
          where + "deadlock: " + deadlock.cycle};
}

bool has_messages(const Schedule& schedule) {
  return std::ranges::any_of(schedule.devices, [](const DeviceList& list) {
    return std::ranges::any_of(list.actions, [](const Action& action) { return is_send(action.op); });
  });
}

/// One schedule with costs of nothing, over links that take no time.
class RunCheck {
 public:
  explicit RunCheck(const Schedule& schedule) : schedule_(schedule) {
    costs_.comm = 0;
    costs_.times.resize(static_cast<std::size_t>(schedule.num_stages));
  }

  /// Without messages, then with those of the document, which leave where it sends them.
  std::optional<Violation> fault() {
    if (auto found = fault_of({TransferMode::kFifo}, {}); !found.empty()) return std::move(found.front());
    if (!has_messages(schedule_)) return std::nullopt;
    if (auto found = fault_of({TransferMode::kFifo}, {.messages = true}); !found.empty())
      return std::move(found.front());
    return std::nullopt;
  }

  std::vector<Violation> faults(std::span<const TransferMode> modes, const LowerOptions& options) {
    LowerOptions with_messages = options;
    with_messages.messages = true;
    return fault_of({modes.begin(), modes.end()}, with_messages, true);
  }

 private:
  std::vector<Violation> fault_of(const std::vector<TransferMode>& modes, const LowerOptions& options,
                                  bool names_mode = false) {
    std::vector<Violation> found;
    try {
      const Program program = lower(schedule_, costs_, nullptr, options);
      for (const TransferMode mode : modes) {
        const std::string name(kTransferModeNames[static_cast<std::size_t>(mode)]);
        if (const auto deadlock = find_deadlock(program, mode)) {
          found.push_back(violation_of(schedule_, *deadlock, names_mode ? "transfers " + name + ": " : ""));
        }
      }
    } catch (const DeadlockError& error) {
      found.push_back(violation_of(schedule_, error.deadlock(), ""));
    } catch (const Error& error) {
      found.push_back({DeviceId{0}, 0, "", error.what()});
    }
    return found;
  }

  const Schedule& schedule_;
  StageCosts costs_;
};

}  // namespace

std::vector<Violation> check_runs(const Schedule& schedule, std::span<const TransferMode> modes,
                                  const LowerOptions& options) {
  RunCheck check(schedule);
  if (auto fault = check.fault()) return {*std::move(fault)};
  if (modes.empty()) return {};
  return check.faults(modes, options);
}

}  // namespace plumb
