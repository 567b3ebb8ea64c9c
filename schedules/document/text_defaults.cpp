#include "schedules/document/text_defaults.hpp"

#include <algorithm>
#include <cstddef>

#include "schedules/document/document_limits.hpp"
#include "schedules/document/walk.hpp"

namespace plumb {
namespace {

constexpr std::int32_t kNobody = -1;

/// Visits all actions with their device.
template <class Visit>
void walk_lists(const Schedule& schedule, Visit visit) {
  for (std::size_t device = 0; device < schedule.devices.size(); ++device) {
    walk(schedule.devices[device], [&](const Action& action) { visit(action, static_cast<std::int32_t>(device)); });
  }
}

/// Who runs the forwards of each stage.
class Holders {
 public:
  Holders(std::size_t replicas, std::size_t stages) : stages_(stages), devices_(replicas * stages) {}

  void note(const Action& forward, std::int32_t device) {
    auto& devices = of(forward);
    if (std::ranges::find(devices, device) == devices.end()) devices.push_back(device);
  }

  /// Makes the list of a stage one of turns, to be filled in by `take`.
  void forget_order() {
    for (auto& devices : devices_) std::ranges::fill(devices, kNobody);
  }

  void take(const Action& forward, std::int32_t device) {
    auto& devices = of(forward);
    for (std::size_t i = 0; i <= forward.merged; ++i) {
      std::int32_t& turn = devices[(index(forward.microbatch) + i) % devices.size()];
      in_turn_ = in_turn_ && (turn == kNobody || turn == device);
      turn = device;
    }
  }

  std::vector<std::vector<std::vector<DeviceId>>> placement() const {
    std::vector<std::vector<std::vector<DeviceId>>> placement(devices_.size() / stages_);
    for (std::size_t at = 0; at < devices_.size(); ++at) {
      if (!in_turn_ || devices_[at].empty() || std::ranges::count(devices_[at], kNobody) != 0) return {};
      auto& stage = placement[at / stages_].emplace_back();
      for (const std::int32_t device : devices_[at]) stage.push_back(DeviceId{device});
    }
    return placement;
  }

 private:
  std::vector<std::int32_t>& of(const Action& action) {
    return devices_[index(action.replica) * stages_ + index(action.stage)];
  }

  std::size_t stages_;
  std::vector<std::vector<std::int32_t>> devices_;  ///< by replica, then stage
  bool in_turn_ = true;
};

}  // namespace

void fill_text_defaults(Schedule& schedule) {
  std::int64_t replicas = 1;
  std::int64_t stages = 1;
  std::int64_t microbatches = 1;
  std::int64_t updates = 1;
  walk_lists(schedule, [&](const Action& action, std::int32_t) {
    replicas = std::max<std::int64_t>(replicas, static_cast<std::int16_t>(action.replica) + 1);
    stages = std::max<std::int64_t>(stages, std::int64_t{static_cast<std::int32_t>(action.stage)} + 1);
    const std::int64_t number = static_cast<std::int32_t>(action.microbatch);
    if (action.op <= Op::kR) microbatches = std::max(microbatches, number + action.merged + 1);
    if (action.op == Op::kU) updates = std::max(updates, number + 1);
  });
  schedule.num_devices = static_cast<std::int32_t>(schedule.devices.size());
  schedule.num_stages = static_cast<std::int32_t>(stages);
  schedule.num_microbatches = microbatches;
  schedule.microbatches_per_update = {microbatches % updates == 0 ? microbatches / updates : microbatches};
  schedule.parameters = {{"p", std::int64_t{schedule.num_devices}}, {"m", schedule.microbatches_per_update.front()}};
  schedule.placement.clear();
  if (replicas * stages > kMostDocumentStages) return;
  Holders holders(static_cast<std::size_t>(replicas), static_cast<std::size_t>(stages));
  walk_lists(schedule, [&](const Action& action, std::int32_t device) {
    if (action.op == Op::kF) holders.note(action, device);
  });
  holders.forget_order();
  walk_lists(schedule, [&](const Action& action, std::int32_t device) {
    if (action.op == Op::kF) holders.take(action, device);
  });
  schedule.placement = holders.placement();
}

}  // namespace plumb
