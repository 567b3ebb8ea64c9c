#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/document/walk.hpp"

namespace plumb {
namespace {

/// Letters of the zero-bubble fork: its B is our I.
std::string_view letter(Op op) {
  switch (op) {
    case Op::kF:
      return "F";
    case Op::kB:
      return "BW";
    case Op::kI:
      return "B";
    case Op::kW:
      return "W";
    default:
      return {};
  }
}

/// The stages that a device holds, ascending: its chunks.
std::vector<StageId> chunks_of(const Schedule& schedule, std::size_t device) {
  std::vector<StageId> chunks;
  for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
    const auto& holders = schedule.placement[0][static_cast<std::size_t>(stage)];
    if (index(holders.front()) == device) chunks.push_back(StageId{stage});
  }
  return chunks;
}

}  // namespace

std::string schedule_to_zero_bubble_table(const Schedule& schedule) {
  schedule_to_torch_csv(schedule);  // what it refuses cannot be said here either
  std::string text =
      "# " + std::to_string(schedule.num_devices) + " ranks, " +
      std::to_string(schedule.num_stages / schedule.num_devices) + " chunks, " +
      std::to_string(schedule.num_microbatches) +
      " microbatches. By rank: (type, microbatch, chunk); B is the input gradient, BW the whole backward.\n"
      "SCHEDULE = [\n";
  for (std::size_t device = 0; device < schedule.devices.size(); ++device) {
    const std::vector<StageId> chunks = chunks_of(schedule, device);
    text += "    [";
    bool first = true;
    walk(schedule.devices[device], [&](const Action& action) {
      if (letter(action.op).empty()) return;
      const auto chunk = std::ranges::find(chunks, action.stage) - chunks.begin();
      text += std::string(first ? "" : ", ") + "(\"" + std::string(letter(action.op)) + "\", " +
              std::to_string(index(action.microbatch)) + ", " + std::to_string(chunk) + ")";
      first = false;
    });
    text += "],\n";
  }
  text += "]\n# By rank: the stage (layer group) of every chunk.\nSTAGES = [";
  for (std::size_t device = 0; device < schedule.devices.size(); ++device) {
    text += device > 0 ? ", [" : "[";
    for (bool first = true; const StageId stage : chunks_of(schedule, device)) {
      text += (std::exchange(first, false) ? "" : ", ") + std::to_string(index(stage));
    }
    text += "]";
  }
  return text + "]\n";
}

}  // namespace plumb
